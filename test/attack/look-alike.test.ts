// T48: an auditor, who reads the public keys of passphrase and recovery keys in the directory,
// makes another store with slots for them. None of the secrets opens it, since each is bound to its
// store. A device card is bound to no store: anyone who has seen it can make a store of which it is
// a member, so a machine joins only the store that it is told to join. FORMAT §1.3, §7.

import { readdirSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Directory } from '../../src/format/directory.ts'
import { formatId } from '../../src/format/id.ts'
import { type EpochKeys, epochKeys } from '../../src/keys/epoch.ts'
import {
  formatRecoveryKey,
  generateIdentity,
  generateOperatorSecret,
  parseOperatorSecret,
} from '../../src/keys/identity.ts'
import { openKeyring } from '../../src/keys/keyring.ts'
import {
  operatorRecoveryKey,
  passphraseIdentity,
  type RecoveryIdentity,
  recoveryKeyIdentity,
} from '../../src/keys/recovery.ts'
import type { Unlock } from '../../src/keys/unlock.ts'
import { joinTrail } from '../../src/store/audit/trail.ts'
import type { FirstContact, JoinOptions } from '../../src/store/clone/clone-remote.ts'
import { joinStore } from '../../src/store/join.ts'
import { forgeKeyring } from '../support/forge-keyring.ts'
import { Forge } from '../support/forge.ts'
import { writeForged } from '../support/forged-disk.ts'
import { author, leastStretch } from '../support/stores.ts'
import { temporaryDirectory } from '../support/temporary.ts'
import { verdictOf } from '../support/verdict.ts'

const passphrase = 'correct horse battery'
const argon2 = { salt: new Uint8Array(16).fill(5), passes: 2, memoryKiB: 65_536 }
const recoveryKey = new Uint8Array(32).fill(7)
let operatorSecret: string
/** The store of the victim, with a recovery key, one of an operator, and a passphrase. */
let real: Forge
/** What an auditor knows of its secrets. */
let published: Directory['recovery']
beforeAll(async () => {
  real = await Forge.started('real store')
  operatorSecret = await generateOperatorSecret(real.random)
  const ofOperator = operatorRecoveryKey(real, parseOperatorSecret(operatorSecret), 0)
  published = [
    ...real.directory.recovery,
    {
      slotId: 'bb'.repeat(16),
      type: 'passphrase',
      ...publicKeys(await passphraseIdentity(real, passphrase, argon2)),
      argon2,
    },
    {
      slotId: 'cc'.repeat(16),
      type: 'recovery',
      ...publicKeys(recoveryKeyIdentity(real, ofOperator)),
    },
  ]
})

function publicKeys({ signing, kem }: RecoveryIdentity) {
  return { signingKey: signing.publicKey, kemKey: kem.publicKey }
}

/** The keyring of another store, with slots for the published keys. */
function lookAlike(): Uint8Array {
  const epoch = epochKeys('ab'.repeat(16), real.random(32), real.random(32))
  return keyringUnder(epoch)
}

function keyringUnder(epoch: EpochKeys): Uint8Array {
  const directory = { ...real.directory, recovery: published }
  return forgeKeyring({ directory, epoch, older: [] })
}

const secrets: Readonly<Record<string, (storeId: string) => Unlock>> = {
  'the passphrase': () => ({ type: 'passphrase', passphrase }),
  'the recovery key': (storeId) => {
    return { type: 'recovery', recoveryKey: formatRecoveryKey(storeId, recoveryKey) }
  },
  'the operator secret': () => ({ type: 'operator', operatorSecret }),
}

describe('T48: a look-alike store', () => {
  test.each(Object.keys(secrets))(
    'is opened by none of the secrets, as the real one is: %s',
    { tags: 'slow' },
    async (name) => {
      const { storeId } = real
      const unlock = secrets[name]
      if (unlock === undefined) throw new Error('No such secret')
      const open = (bytes: Uint8Array, id: string, typed = id) =>
        verdictOf(() => openKeyring(bytes, id, unlock(typed)))
      expect(await open(keyringUnder(real.epoch), storeId)).toBe('accepted')
      // Even if the key were typed with the end of the other store's id.
      expect(await open(lookAlike(), 'cd'.repeat(16))).toBe('wrong_key')
      // 40 bits of an id can be found by trial.
      const sameEnd = `${'cd'.repeat(11)}${storeId.slice(22)}`
      expect(await open(lookAlike(), sameEnd, storeId)).toBe('wrong_key')
    },
  )

  test('is refused by the text of the recovery key, before anything is tried', async () => {
    const text = formatRecoveryKey(real.storeId, recoveryKey)
    const unlock = { type: 'recovery', recoveryKey: text } as const
    const opening = openKeyring(lookAlike(), 'cd'.repeat(16), unlock)
    await expect(opening).rejects.toMatchObject({
      code: 'wrong_key',
      message: expect.stringMatching(/of another store than this one, memstore_/),
    })
  })

  test('over a remote takes in no machine by passphrase', { tags: 'slow' }, async () => {
    const attacker = await Forge.create('look-alike')
    attacker.directory = { ...attacker.directory, recovery: published }
    attacker.genesis()
    const url = `${temporaryDirectory()}/remote.git`
    await writeForged(attacker, url)
    const root = temporaryDirectory()
    const joining = joinStore({
      url,
      author,
      stretch: leastStretch,
      directory: `${root}/store`,
      stateDirectory: `${root}/state`,
      identity: await generateIdentity(),
      passphrase,
      storeId: formatId('store', attacker.storeId),
      trustFirstContact: async () => true,
    })
    await expect(joining).rejects.toMatchObject({ code: 'wrong_key' })
  })
  /** A remote with a store of the attacker, and who is a device of it by its card. */
  async function foundFor(role: 'writer' | 'auditor') {
    const attacker = await Forge.create('look-alike')
    attacker.genesis()
    const identity = await attacker.join(role)
    const url = `${temporaryDirectory()}/remote.git`
    await writeForged(attacker, url)
    const root = temporaryDirectory()
    const places = { directory: `${root}/store`, stateDirectory: `${root}/state`, identity }
    const own = formatId('store', attacker.storeId)
    return { root, attacker, options: { ...places, url, author }, own }
  }

  const joins = {
    writer: async (options: JoinOptions) => (await joinStore(options)).close(),
    auditor: joinTrail,
  } as const

  test.each(['writer', 'auditor'] as const)(
    'takes in no machine by its card, unless it is told to: %s',
    { tags: 'slow' },
    async (role) => {
      const { root, attacker, options, own } = await foundFor(role)
      const join = joins[role]
      const refused = { code: 'invalid_input', message: expect.stringContaining('#memstore_…') }
      await expect(join(options)).rejects.toMatchObject(refused)
      const asked: FirstContact[] = []
      const trustFirstContact = async (found: FirstContact): Promise<boolean> => {
        asked.push(found)
        return false
      }
      const named = { ...options, storeId: own }
      await expect(join(named)).rejects.toMatchObject(refused)
      await expect(join({ ...named, trustFirstContact })).rejects.toMatchObject(refused)
      const owner = { deviceId: formatId('device', attacker.founder.deviceId), name: '' }
      expect(asked).toEqual([{ storeId: own, owners: [owner], words: expect.any(Array) }])
      const storeId = formatId('store', real.storeId)
      await expect(join({ ...options, storeId })).rejects.toMatchObject({
        code: 'store_id_mismatch',
      })
      expect(readdirSync(root)).toEqual([])
      // The honest twin: the same store, when it is the one that is meant.
      const { url } = options
      const meant = { ...options, url: `${url}#${own}`, trustFirstContact: async () => true }
      await expect(join(meant)).resolves.not.toThrow()
    },
  )
})

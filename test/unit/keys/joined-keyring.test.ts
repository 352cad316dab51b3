// The keyring that joins two which changed apart (FORMAT §7.2), made and opened with real keys.

import { describe, expect, test } from 'vitest'
import { byOwner, type Role } from '../../../src/format/directory.ts'
import { deviceIdOf } from '../../../src/format/id.ts'
import { formatRecoveryKey, generateIdentity, type Identity } from '../../../src/keys/identity.ts'
import {
  addDevice,
  createKeyring,
  joinKeyrings,
  type NewKeyring,
  openAuditKeyring,
  type OpenedKeyring,
  openKeyring,
  startEpoch,
} from '../../../src/keys/keyring.ts'
import type { Unlock } from '../../../src/keys/unlock.ts'
import { countingRandom } from '../../support/forge-seal.ts'
import { decodeKeyring as referenceDecode } from '../../support/reference/keyring.ts'
import { unlock as referenceUnlock } from '../../support/reference/unlock.ts'
import { sample } from '../../support/seed.ts'
import { leastStretch } from '../../support/stores.ts'

const random = countingRandom('joined keyring')
const recoveryKey = random(32)
const founder = await generateIdentity(random)
const [second, removed, admitted] = [
  await generateIdentity(random),
  await generateIdentity(random),
  await generateIdentity(random),
]
const by = (identity: Identity): Unlock => ({ type: 'identity', identity })
const reopen = (keyring: NewKeyring, unlock: Unlock = by(founder)): Promise<OpenedKeyring> =>
  openKeyring(keyring.bytes, keyring.storeId, unlock)

const admitting = (role: Role) => ({ role, ...byOwner, name: '' }) as const
const options = { identity: founder, name: '', passphrase: undefined, random }
const start = await reopen(await createKeyring({ ...options, recoveryKeyOf: () => recoveryKey }))
const two = await reopen(await addDevice(start, second, admitting('auditor')))
const common = await reopen(await addDevice(two, removed, admitting('writer')))
const recoveryText = formatRecoveryKey(common.storeId, recoveryKey)

describe('a removal and an admission, joined', async () => {
  const left = await startEpoch(common, { removed: [removed.deviceId] }, random)
  const right = await addDevice(common, admitted, admitting('writer'))
  const joined = await joinKeyrings([await reopen(left), await reopen(right)], random)

  test('begin an epoch, and archive those of both, the first ones first', async () => {
    expect(joined.archived).toEqual([common.epoch.kid, left.epoch.kid])
    const other = await joinKeyrings([await reopen(right), await reopen(left)], random)
    expect(other.archived).toEqual([common.epoch.kid, left.epoch.kid])
    const opened = await reopen(joined)
    expect([...opened.epochs.keys()]).toEqual([...joined.archived, joined.epoch.kid])
    expect(opened.epochs.get(left.epoch.kid)).toEqual(left.epoch)
  })

  test.each<[string, Unlock]>([
    ['its author', by(founder)],
    ['a device that one side admitted', by(admitted)],
    ['the recovery key', { type: 'recovery', recoveryKey: recoveryText }],
  ])('are opened by %s', async (_, unlock) => {
    expect((await reopen(joined, unlock)).epoch).toEqual(joined.epoch)
  })

  test('are opened by an auditor without C', async () => {
    const { epochs } = await openAuditKeyring(joined.bytes, joined.storeId, second)
    expect([...epochs.keys()]).toEqual([...joined.archived, joined.epoch.kid])
  })

  test('are not opened by a removed device', async () => {
    await expect(reopen(joined, by(removed))).rejects.toMatchObject({ code: 'wrong_key' })
  })

  test('are opened alike by the reference decoder', () => {
    const secret = { recoveryKey: recoveryText }
    const epochs = referenceUnlock(referenceDecode(joined.bytes), secret)
    expect(epochs.map(({ kid }) => kid)).toEqual([...joined.archived, joined.epoch.kid])
  })
})

describe('passphrases that were set apart', () => {
  test(
    'each open what joins them, another does not, and the next one replaces them',
    { tags: 'slow' },
    async () => {
      const texts = ['the first of two', 'the second of two']
      const sides = await Promise.all(
        texts.map(async (passphrase) =>
          reopen(await startEpoch(common, { passphrase, stretch: leastStretch }, random)),
        ),
      )
      const [left, right] = sides
      if (left === undefined || right === undefined) throw new Error('two sides')
      const joined = await joinKeyrings([left, right], random)
      // Each of these takes as many Argon2id as there are passphrases up to it.
      for (const passphrase of sample(texts, 2)) {
        const { epoch, recovery } = await reopen(joined, { type: 'passphrase', passphrase })
        expect(epoch).toEqual(joined.epoch)
        const ids = joined.directory.recovery.map(({ signingKey }) => deviceIdOf(signingKey))
        expect(ids).toContain(deviceIdOf(recovery?.signing.publicKey ?? new Uint8Array(32)))
      }
      const wrong = { type: 'passphrase', passphrase: 'neither of the two' } as const
      await expect(reopen(joined, wrong)).rejects.toMatchObject({ code: 'wrong_key' })
      const next = await startEpoch(await reopen(joined), { passphrase: null }, random)
      expect(next.directory.gone).toHaveLength(2)
      expect(next.directory.recovery.map(({ type }) => type)).toEqual(['recovery'])
    },
  )
})

test('more devices than a keyring can have are store_full', () => {
  const facts = { role: 'writer', roleBy: 'owner', namedBy: 'owner', ...byOwner } as const
  const many = (from: number) =>
    Array.from({ length: 150 }, (_, index) => {
      const deviceId = (from + index).toString(16).padStart(32, '0')
      const keys = { signingKey: random(32), kemKey: random(1216), keySignature: random(64) }
      return { deviceId, ...keys, ...facts, name: '', added: 0, roleSet: 0, named: 0 }
    })
  const sides = [many(0), many(1000)].map((devices) => {
    return { ...common, directory: { ...common.directory, devices } }
  })
  const [left = common, right = common] = sides
  expect(() => joinKeyrings([left, right], random)).toThrow(
    expect.objectContaining({ code: 'store_full' }),
  )
})

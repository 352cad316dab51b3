// T35: a host without a key can put any keyring into the tree of a head. It controls neither how
// long a device tries to open that, nor whether a cancellation stops it. Attempts are counted,
// never timed.

import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { sodium } from '../../src/crypto/sodium.ts'
import { decodeKeyring, encodeKeyring, type Slot, sortSlots } from '../../src/format/keyring.ts'
import { joinTrail } from '../../src/index.ts'
import {
  formatRecoveryKey,
  generateIdentity,
  generateOperatorSecret,
  type Identity,
} from '../../src/keys/identity.ts'
import { openKeyring } from '../../src/keys/keyring.ts'
import { argon2, standardStretch, type StretchParameters } from '../../src/limits.ts'
import { headOf, joinClone, sync } from '../support/clones.ts'
import { failureOf } from '../support/faulty-remotes.ts'
import { forgeKeyring } from '../support/forge-keyring.ts'
import { Forge } from '../support/forge.ts'
import {
  branchOf,
  create,
  moveBranch,
  pairsOfClones,
  repair,
  rewritten,
  treeWith,
  withTree,
} from '../support/hostile-remotes.ts'
import { author } from '../support/stores.ts'
import { git, gitBytes, temporaryDirectory } from '../support/temporary.ts'

const pairOfClones = pairsOfClones()
const SLOTS = 256
const most = { passes: argon2.passes.ceiling, memoryKiB: argon2.memoryKiB.ceiling }
const passphrase = 'correct horse battery'

const decapsulate = sodium.crypto_kem_xwing_dec
afterEach(() => vi.restoreAllMocks())

/** A keyring of an unknown epoch, with slots that no key opens. */
function crowded(
  keyring: Uint8Array,
  passphrases: readonly StretchParameters[] = [],
  count = SLOTS,
): Uint8Array {
  const file = decodeKeyring(keyring)
  const [slot] = file.slots
  if (slot === undefined) throw new Error('It has no slot')
  const like = (index: number): Slot => ({
    ...slot,
    ciphertext: slot.ciphertext.with(0, index >> 8).with(1, index & 0xff),
    envelope: unknown(slot.envelope),
  })
  const keys = Array.from({ length: count }, (_, index) => like(index))
  const others = passphrases.map((costs, index): Slot => {
    const slotId = `${index}`.padStart(32, '0')
    const parameters = { ...costs, salt: new Uint8Array(16) }
    return { ...like(index), type: 'passphrase', passphrase: { slotId, argon2: parameters } }
  })
  return encodeKeyring({
    ...file,
    kid: '09'.repeat(16),
    slots: sortSlots([...keys, ...others]),
    archiveA: unknown(file.archiveA),
    archiveC: unknown(file.archiveC),
    directory: unknown(file.directory),
  })
}

/** An envelope of another kid. */
function unknown(envelope: Uint8Array): Uint8Array {
  return envelope.slice().fill(9, 8, 24)
}

/** How many slots are tried; `onTry` is called before each. */
function watchTries(onTry: () => void = () => undefined): { readonly count: number } {
  const tries = vi.spyOn(sodium, 'crypto_kem_xwing_dec').mockImplementation((...args) => {
    onTry()
    return decapsulate(...args)
  })
  return {
    get count() {
      return tries.mock.calls.length
    },
  }
}

/** Soon: while the passphrase is stretched. */
function cancelledSoon(): AbortSignal {
  return AbortSignal.timeout(300)
}

describe('T35: a keyring that is dear to open', () => {
  let keyring: Uint8Array
  let storeId: string
  let identity: Identity
  beforeAll(async () => {
    const { directory, epoch, storeId: id } = await Forge.started('keyring work')
    storeId = id
    keyring = forgeKeyring({ directory, epoch, older: [] })
    identity = await generateIdentity()
  })

  test.each(['identity', 'recovery', 'operator'] as const)(
    'is left at a cancellation: by %s',
    async (type) => {
      const recoveryKey = formatRecoveryKey(storeId, new Uint8Array(32))
      const secrets = { identity, recoveryKey, operatorSecret: await generateOperatorSecret() }
      const cancelling = new AbortController()
      const tries = watchTries(() => cancelling.abort())
      const opening = openKeyring(
        crowded(keyring),
        storeId,
        { type, ...secrets },
        cancelling.signal,
      )
      await expect(opening).rejects.toMatchObject({ code: 'cancelled' })
      expect(tries.count).toBeLessThan(SLOTS)
    },
  )

  test('is not tried if it has more slots than any store has holders', async () => {
    const tries = watchTries()
    const opening = openKeyring(crowded(keyring, [], 1024), storeId, { type: 'identity', identity })
    await expect(opening).rejects.toMatchObject({ code: 'keyring_malformed' })
    expect(tries.count).toBe(0)
  })

  test('is left at a cancellation: by passphrase', { tags: 'slow' }, async () => {
    const costs = { ...most, memoryKiB: standardStretch.memoryKiB }
    const unlock = { type: 'passphrase', passphrase } as const
    const opening = openKeyring(crowded(keyring, [costs]), storeId, unlock, cancelledSoon())
    await expect(opening).rejects.toMatchObject({ code: 'cancelled' })
  })
})

describe('T35: a remote that shows such a keyring', () => {
  /** The remote, and a signal that is aborted when the first slot is tried. */
  async function hostile(passphrases: readonly StretchParameters[] = []) {
    const { a, remote } = await pairOfClones()
    const bytes = crowded(gitBytes(['cat-file', 'blob', 'main:keyring'], remote), passphrases)
    moveBranch(remote, withTree(remote, 'main', treeWith(remote, 'keyring', bytes)))
    const cancelling = new AbortController()
    const tries = watchTries(() => cancelling.abort())
    return { a, remote, tries, signal: cancelling.signal }
  }

  test('does not hold a sync that is cancelled', { tags: 'slow' }, async () => {
    const { a, tries, signal } = await hostile()
    const syncing = a.store.as(author).sync({ signal })
    expect(await failureOf(syncing)).toMatchObject({ code: 'cancelled' })
    expect(tries.count).toBeLessThan(SLOTS)
  })

  test.each(['recoveryKey', 'operatorSecret'] as const)(
    'does not hold a machine that joins: %s',
    { tags: 'slow' },
    async (secret) => {
      const { a, remote, tries, signal } = await hostile()
      const { recoveryKey } = a.place
      const secrets = { recoveryKey, operatorSecret: await generateOperatorSecret() }
      const identity = await generateIdentity()
      const options = { identity, [secret]: secrets[secret], signal }
      expect(await failureOf(joinClone(a, remote, options))).toMatchObject({ code: 'cancelled' })
      expect(tries.count).toBeLessThan(SLOTS)
    },
  )

  test('does not hold a machine that joins: passphrase', { tags: 'slow' }, async () => {
    const { a, remote } = await hostile([most])
    const identity = await generateIdentity()
    const joining = joinClone(a, remote, { identity, passphrase, signal: cancelledSoon() })
    expect(await failureOf(joining)).toMatchObject({ code: 'cancelled' })
  })

  test('does not hold an auditor', { tags: 'slow' }, async () => {
    const { a, remote, tries, signal } = await hostile()
    const root = temporaryDirectory()
    const at = { directory: `${root}/store`, stateDirectory: `${root}/state` }
    const url = `${remote}#${a.store.id}`
    const joining = joinTrail({ ...at, url, identity: await generateIdentity(), signal })
    expect(await failureOf(joining)).toMatchObject({ code: 'cancelled' })
    expect(tries.count).toBeLessThan(SLOTS)
  })
})

describe('T35: a repair below a head', () => {
  /** Unsigned commits on the head, each with a keyring, one of them with the keyring in force. */
  async function hostile(keyrings: number) {
    const { a, b, remote } = await pairOfClones()
    await create(b, '/news.md')
    await sync(b)
    const known = treeOf(remote)
    const bytes = crowded(gitBytes(['cat-file', 'blob', 'main:keyring'], remote))
    for (let n = 0; n < keyrings; n += 1) {
      const tree = treeWith(remote, 'keyring', bytes.with(bytes.length - 1, n))
      moveBranch(remote, onHead(remote, tree))
    }
    moveBranch(remote, onHead(remote, known))
    return { a, remote }
  }

  function treeOf(remote: string): string {
    return git(['rev-parse', 'main^{tree}'], remote).trim()
  }

  function onHead(remote: string, tree: string): string {
    return rewritten(remote, 'main', (text) => {
      const links = `tree ${tree}\nparent ${branchOf(remote)}`
      return text.replace(/^tree .*\nparent .*$/m, links)
    })
  }

  test('tries none of their keyrings, and replaces all of it', { tags: 'slow' }, async () => {
    const { a, remote } = await hostile(12)
    const tries = watchTries()
    await repair(a)
    expect(tries.count).toBe(0)
    expect(branchOf(remote)).toBe(await headOf(a))
  })
})

// T50: an owner that was lowered since adds another owner on an old commit, or a passphrase enrols
// one, who makes it an owner again. No record of such a line is sound by another one of it. FORMAT
// §7.2.

import { beforeAll, describe, expect, test } from 'vitest'
import type { Directory, Role } from '../../src/format/directory.ts'
import { generateIdentity, type Identity } from '../../src/index.ts'
import { type RecoveryIdentity, recoveryKeyIdentity } from '../../src/keys/recovery.ts'
import { asRecovery, withMember } from '../support/forge-fault.ts'
import type { Forge } from '../support/forge.ts'
import { change, type Clones, removeDevice, standardClones } from '../support/forged-clones.ts'
import { accepted, refused, verdicts } from '../support/standard-forge.ts'

let clones: () => Clones
beforeAll(async () => {
  clones = await standardClones('self-made owners')
})

/** The lowered owner adds `helper` on its old line, which raises it again. */
function raiseEachOther(line: Forge, lowered: Identity, helper: Identity): void {
  line.keyring((next) => withMember(next, helper, 'owner'), { fault: { author: lowered } })
  change(line, lowered, { role: 'auditor' }, helper)
  change(line, lowered, { role: 'owner' }, helper)
}

describe('T50: a join refuses what a lowered owner', { tags: 'slow' }, () => {
  test.each<Role>(['writer', 'reader', 'auditor'])('and its helper make of a %s', async (role) => {
    const { left, right, second } = clones()
    change(left, second, { role })
    raiseEachOther(right, second, await generateIdentity(right.random))
    left.joinWith(right)
    expect(await verdicts(left)).toEqual(refused('record_late'))
  })

  test('and its helper make, also if the helper joins', async () => {
    const { left, right, second } = clones()
    change(left, second, { role: 'reader' })
    const helper = await generateIdentity(right.random)
    raiseEachOther(right, second, helper)
    left.joinWith(right, { fault: { author: helper } })
    expect(await verdicts(left)).toEqual(refused('record_late'))
  })

  test('and its helper decide: the founder is removed', async () => {
    const { left, right, second } = clones()
    change(left, second, { role: 'writer' })
    const helper = await generateIdentity(right.random)
    raiseEachOther(right, second, helper)
    removeDevice(right, right.founder, { author: helper })
    left.joinWith(right, { fault: { author: helper } })
    expect(await verdicts(left)).toEqual(refused('record_late'))
  })

  test.each<[string, Directory['recovery'][number]['type'] | undefined]>([
    ['', undefined],
    [', under the slot id of one that was added since', 'recovery'],
    [', under the slot id of a passphrase that was set since', 'passphrase'],
  ])('and a recovery key make that it adds%s', async (_, taken) => {
    const { left, right, second } = clones()
    const slotId = 'cc'.repeat(16)
    const add = (key: RecoveryIdentity, type: 'recovery' | 'passphrase') => (next: Directory) => {
      const keys = { signingKey: key.signing.publicKey, kemKey: key.kem.publicKey }
      const argon2 = { salt: new Uint8Array(16), passes: 2, memoryKiB: 65_536 }
      const entry =
        type === 'recovery' ? { slotId, type, ...keys } : { slotId, type, ...keys, argon2 }
      return { ...next, recovery: [...next.recovery, entry] }
    }
    const [theirs, own] = [8, 9].map((byte) => {
      return recoveryKeyIdentity(right.storeId, new Uint8Array(32).fill(byte))
    })
    if (theirs === undefined || own === undefined) throw new Error('There are two keys')
    if (taken !== undefined) left.keyring(add(theirs, taken))
    change(left, second, { role: 'writer' })
    right.keyring(add(own, 'recovery'), { fault: { author: second } })
    const helper = await generateIdentity(right.random)
    const fault = asRecovery({ slotId }, own)
    right.keyring((next) => withMember(next, helper, 'owner', 'recovery', slotId), { fault })
    change(right, second, { role: 'auditor' }, helper)
    change(right, second, { role: 'owner' }, helper)
    left.joinWith(right)
    expect(await verdicts(left)).toEqual(refused('record_late'))
  })

  test('makes of a device that a passphrase has enrolled there', async () => {
    const { left, right, second, helper } = await withPassphrase()
    left.keyring((next) => withMember(next, helper.device, 'writer', 'passphrase'), helper.by)
    change(left, second, { role: 'reader' })
    raiseEachOther(right, second, helper.device)
    left.joinWith(right)
    expect(await verdicts(left)).toEqual(refused('record_late'))
  })

  test('makes of a device that a passphrase has enrolled here', async () => {
    const { left, right, second, helper } = await withPassphrase()
    change(left, second, { role: 'reader' })
    right.keyring((next) => withMember(next, helper.device, 'writer', 'passphrase'), helper.by)
    change(right, helper.device, { role: 'owner' }, second)
    change(right, second, { role: 'auditor' }, helper.device)
    change(right, second, { role: 'owner' }, helper.device)
    left.joinWith(right)
    expect(await verdicts(left)).toEqual(refused('record_late'))
  })
})

test(
  'T50: an owner that an owner for both sides has added decides too',
  { tags: 'slow' },
  async () => {
    const { left, right, second, writer } = clones()
    change(left, writer, { role: 'reader' })
    const added = await generateIdentity(right.random)
    right.keyring((next) => withMember(next, added, 'owner'), { fault: { author: second } })
    const more = await generateIdentity(right.random)
    right.keyring((next) => withMember(next, more, 'reader'), { fault: { author: added } })
    left.joinWith(right)
    expect(await verdicts(left)).toEqual(accepted)
  },
)

/** Both clones have a passphrase. */
async function withPassphrase() {
  const { left, second } = clones()
  const slotId = 'bb'.repeat(16)
  const secret = recoveryKeyIdentity(left.storeId, new Uint8Array(32).fill(8))
  const keys = { signingKey: secret.signing.publicKey, kemKey: secret.kem.publicKey }
  const argon2 = { salt: new Uint8Array(16), passes: 2, memoryKiB: 65_536 }
  const entry = { slotId, type: 'passphrase', ...keys, argon2 } as const
  left.keyring((next) => ({ ...next, recovery: [...next.recovery, entry] }))
  const device = await generateIdentity(left.random)
  const helper = { device, by: { fault: asRecovery({ slotId }, secret) } }
  return { left, right: left.fork(), second, helper }
}

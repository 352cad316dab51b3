// T26: records or keyrings that a member forges and pushes are refused by every other device with
// the code of the violation; a repair restores what the owners had. FORMAT §7, §8.
// @module-tag slow

import { beforeAll, describe, expect, test } from 'vitest'
import type { Directory } from '../../src/format/directory.ts'
import { zeroHash } from '../../src/format/record.ts'
import { recoveryKeyIdentity } from '../../src/keys/recovery.ts'
import { bareRemote, type Clone, firstClone, joinClone, sync, syncAll } from '../support/clones.ts'
import { asRecovery, type Fault, fields } from '../support/forge-fault.ts'
import { flipBit } from '../support/forge-seal.ts'
import type { Forge } from '../support/forge.ts'
import { fresh, spoiled } from '../support/forged-clones.ts'
import { writeForged } from '../support/forged-disk.ts'
import {
  branchOf,
  create,
  evidenceOf,
  expectInStep,
  expectRefused,
  moveBranch,
  repair,
} from '../support/hostile-remotes.ts'
import { sample } from '../support/seed.ts'
import {
  memory,
  nextRow,
  type Standard,
  standardHistory,
  version,
} from '../support/standard-forge.ts'
import { contentsOf } from '../support/stores.ts'
import { git, temporaryDirectory } from '../support/temporary.ts'

let standard: Standard
beforeAll(async () => {
  standard = await standardHistory('remote')
})

/** An honest clone of the founder, in step with a remote that has the standard history. */
async function honest(): Promise<{ clone: Clone; remote: string; forge: Forge }> {
  const forge = standard.forge.fork()
  const remote = `${temporaryDirectory()}/remote.git`
  await writeForged(forge, remote)
  const identity = forge.founder
  const unused = { directory: '', stateDirectory: '', recoveryKey: '', identity }
  return { clone: await joinClone({ place: unused }, remote, { identity }), remote, forge }
}

type Forging = (forge: Forge) => unknown

function keyring(change: (next: Directory) => Directory): Forging {
  return (forge) => forge.keyring(change)
}

const same = (next: Directory): Directory => next
const asWriter = (): Fault => ({ author: standard.writer })

/** As the holder of the recovery key, who may enrol devices and nothing else. */
function asRecoveryKey(): Fault {
  const key = recoveryKeyIdentity(standard.forge, new Uint8Array(32).fill(7))
  return asRecovery({ slotId: 'aa'.repeat(16) }, key)
}

const forgeries: readonly [code: string, name: string, forging: Forging][] = [
  ['record_role', 'a keyring by a writer', (f) => f.keyring(same, { fault: asWriter() })],
  [
    'record_role',
    'a redaction by a writer',
    (f) => {
      f.redact([[memory.a, version.a1]], asWriter())
      f.rewrite(new Set([version.a1]))
    },
  ],
  ['keyring_chain', 'a number is skipped', keyring((next) => ({ ...next, number: 9 }))],
  [
    'keyring_chain',
    'a device is missing',
    keyring((next) => ({
      ...next,
      devices: next.devices.filter(({ role }) => role !== 'reader'),
      removed: [...next.removed],
    })),
  ],
  [
    'keyring_chain',
    'everybody is made an owner within the epoch',
    keyring((next) => ({
      ...next,
      devices: next.devices.map((one) => ({ ...one, role: 'owner' })),
    })),
  ],
  [
    'keyring_mismatch',
    'a keyring that its record does not name',
    (f) => f.keyring(same, { fault: { swappedFile: flipBit(8 * 2000) } }),
  ],
  ['record_role', 'a change by a recovery key', (f) => f.change([nextRow], asRecoveryKey())],
  [
    'record_role',
    'an epoch that a recovery key begins',
    (f) => f.keyring(same, { fault: asRecoveryKey(), epoch: f.newEpoch() }),
  ],
  ['record_sequence', 'a number used twice', (f) => f.change([nextRow], fields({ sequence: 1 }))],
  ['record_chain', 'another chain', (f) => f.change([nextRow], fields({ previous: zeroHash }))],
  [
    'record_device',
    'a change by a stranger',
    (f) => f.change([nextRow], { author: { ...standard.writer, deviceId: '01'.repeat(16) } }),
  ],
  [
    'device_signature_invalid',
    "a record in the founder's name",
    (f) => f.change([nextRow], { author: { ...standard.writer, deviceId: f.founder.deviceId } }),
  ],
  [
    'redaction_undone',
    'a redaction that left everything in place',
    (f) => f.redact([[memory.a, version.a1]]),
  ],
  ['detail_missing', 'details gone without one', (f) => f.change([nextRow], { details: () => [] })],
  [
    'record_rows',
    'a new memory with an id of its choice',
    (f) =>
      f.change(
        [fresh],
        spoiled(() => ({ memoryId: 'ab'.repeat(16) })),
      ),
  ],
  [
    'tree_mismatch',
    'a memory left out of the tree',
    (f) => f.change([nextRow], { memories: (all) => new Map([...all].slice(1)) }),
  ],
]

describe('T26: a member who pushes', () => {
  test.each(sample(forgeries, 2))('%s: %s', { tags: 'slow' }, async (code, _, forging) => {
    const { clone, remote, forge } = await honest()
    forging(forge)
    await writeForged(forge, remote)
    await expectRefused(clone, code)
    // A pack that contains redacted versions is not kept, not even as evidence.
    const evidence = code === 'redaction_undone' ? undefined : forge.head
    expect(await evidenceOf(clone)).toBe(evidence)
    await repair(clone)
    await expectInStep(remote, [clone])
  })

  test('an honest keyring is adopted', async () => {
    const { clone, remote, forge } = await honest()
    await forge.join('reader')
    await writeForged(forge, remote)
    await sync(clone)
    expect(await clone.store.devices.list()).toHaveLength(4)
    await expectInStep(remote, [clone])
  })
})

test('a repair keeps valid commits below a refused head', { tags: 'slow' }, async () => {
  const remote = bareRemote()
  const a = await firstClone(remote)
  await create(a, '/of-a.md')
  await sync(a)
  const b = await joinClone(a, remote)
  await syncAll([a, b])
  await create(b, '/of-b.md')
  await sync(b)
  const tip = branchOf(remote)
  moveBranch(remote, git(['commit-tree', `${tip}^{tree}`, '-p', tip, '-m', 'junk'], remote).trim())
  await expectRefused(a, 'commit_malformed')
  await repair(a)
  await expectInStep(remote, [a])
  expect(await contentsOf(a.store)).toHaveProperty('/of-b.md')
  await syncAll([a, b])
  await expectInStep(remote, [a, b])
})

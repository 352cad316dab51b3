// Vectors of merges with one fault each. FORMAT §6.4; of keyrings and forked devices only what a
// merge has to do with them.

import type { SignedRow } from '../../../src/format/change-record.ts'
import { zeroId } from '../../../src/format/record.ts'
import { type Fault, fields } from '../../support/forge-fault.ts'
import type { RawEntry } from '../../support/forge-seal.ts'
import {
  type Clones,
  endOfA,
  type Forging,
  fresh,
  inLeft,
  inRight,
  mergedOpen,
  mergedSettled,
  named,
  ofB,
  spoiled,
  united,
} from '../../support/forged-clones.ts'
import { rowOfDeleted, treeOfOneSide, withAncestor } from '../../support/forged-merges.ts'
import { memory, version } from '../../support/standard-forge.ts'
import type { MergeCase } from './merges.ts'

/** Both changed /a.md, the right one twice; `bases` is what the merge names instead of them. */
function misbased(bases: (row: SignedRow, clones: Clones) => Partial<SignedRow>): Forging {
  return (clones) => {
    const { left, right, asWriter } = clones
    left.change([inLeft])
    right.change([{ ...inRight, versionId: version.next }], asWriter)
    right.change([inRight], asWriter)
    left.merge(
      right,
      [united],
      spoiled((row) => bases(row, clones)),
    )
    return left
  }
}

/** The right one changed /a.md while the left one began an epoch. */
function mergedEpochs(fault: (clones: Clones) => Fault): Forging {
  return (clones) => {
    const { left, right, asWriter } = clones
    right.change([inRight], asWriter)
    left.keyring((next) => next, { epoch: left.newEpoch() })
    left.merge(right, [], fault(clones))
    return left
  }
}

function withFile(
  entries: readonly RawEntry[],
  name: 'keyring' | 'settings',
  oid = '',
): readonly RawEntry[] {
  return entries.map((entry) => (entry.name === name ? { ...entry, oid } : entry))
}

export const refusedMerges: readonly MergeCase[] = [
  ['row_missing', 'a merge without a row for what both changed', '6.4', mergedOpen([])],
  [
    'row_base_mismatch',
    'the two bases in the other order',
    '6.4',
    misbased(({ base, secondBase }) => ({ base: secondBase, secondBase: base })),
  ],
  ['row_base_mismatch', 'one base for two', '6.4', misbased(() => ({ secondBase: zeroId }))],
  ['row_base_mismatch', 'one base twice', '6.4', misbased(({ base }) => ({ secondBase: base }))],
  [
    'row_base_mismatch',
    'a second base that is of before both',
    '6.4',
    misbased((_, { left }) => ({ secondBase: left.idOf(version.a2) })),
  ],
  [
    'row_base_mismatch',
    'a base that one side has replaced',
    '6.4',
    misbased(({ base }, { right }) => {
      const theirs = right.memories.get(right.idOf(memory.a))?.versionId
      const replaced = right.idOf(version.next)
      return base === theirs ? { base: replaced } : { secondBase: replaced }
    }),
  ],
  [
    'row_base_mismatch',
    'a second base of another memory',
    '6.4',
    misbased((_, { left }) => ({ secondBase: left.idOf(version.b1) })),
  ],
  [
    'row_base_mismatch',
    'a second base for what is settled',
    '6.4',
    mergedSettled([{ ...ofB, secondBase: version.b1 }]),
  ],
  [
    'row_base_mismatch',
    'the base that a settled version replaced',
    '6.4',
    mergedSettled([{ ...ofB, base: version.b1 }]),
  ],
  [
    'row_base_mismatch',
    'a second base without a second parent',
    '6.4',
    ({ left }) => {
      left.change([{ ...inLeft, secondBase: version.b1 }])
      return left
    },
  ],
  ['record_rows', 'a merge that creates a memory', '6.4', mergedSettled([fresh])],
  ['row_memory_missing', 'a row for what one side has deleted', '6.4', rowOfDeleted],
  [
    'detail_mismatch',
    'a deletion of what both changed, under a path of neither',
    '6.2',
    mergedOpen([{ ...endOfA, path: '/third.md' }]),
  ],
  ['tree_mismatch', 'a merge with the tree of one side', '6.4', treeOfOneSide],
  [
    'tree_mismatch',
    'a merge with the settings that count less',
    '6.4',
    ({ left, right, second }) => {
      left.settings(named('left'))
      left.settings(named('left again'))
      right.settings(named('right'), { author: second })
      const settings = right.entries.at(-1)?.settings
      left.merge(right, [], { root: (entries) => withFile(entries, 'settings', settings) })
      return left
    },
  ],
  [
    'record_parents',
    'the parents of a commit in another order than its record’s',
    '6',
    mergedSettled([], { parts: (p) => ({ ...p, parents: p.parents.toReversed() }) }),
  ],
  [
    'record_malformed',
    'the parents of commit and record that do not ascend',
    '6',
    mergedSettled([], {
      record: (r) => ({ ...r, parents: r.parents.toReversed() }),
      parts: (p) => ({ ...p, parents: p.parents.toReversed() }),
    }),
  ],
  [
    'record_parents',
    'a commit with one of the two parents of its record',
    '6.4',
    mergedSettled([], { parts: (p) => ({ ...p, parents: p.parents.slice(0, 1) }) }),
  ],
  ['record_parents', 'a merge with an ancestor', '6.4', withAncestor],
  [
    'record_height',
    'a merge at the height of the lower side',
    '6.1',
    ({ left, right, asWriter }) => {
      left.change([inLeft])
      left.change([inLeft])
      right.change([ofB], asWriter)
      left.merge(right, [], { record: (r) => ({ ...r, height: r.height - 1 }) })
      return left
    },
  ],
  [
    'record_sequence',
    'a merge by a device with a number that it used on the other side',
    '8',
    ({ left, right, asWriter }) => {
      left.change([inLeft])
      right.change([ofB], asWriter)
      left.merge(right, [], { ...asWriter, ...fields({ sequence: 1 }) })
      return left
    },
  ],
  [
    'record_keyring',
    'a merge that names the keyring of before',
    '6.4',
    mergedEpochs(({ right }) => fields({ keyring: right.keyringRecord })),
  ],
  [
    'record_epoch',
    'a merge under the epoch of before',
    '6.4',
    mergedEpochs(({ right: { epoch } }) => ({ epoch })),
  ],
  [
    'tree_mismatch',
    'a merge with the keyring of before',
    '6.4',
    ({ left, right, asWriter }) => {
      right.change([inRight], asWriter)
      const keyring = left.entries.findLast(({ record }) => record.kind === 'keyring')?.keyring
      left.keyring((next) => next)
      left.merge(right, [], { root: (entries) => withFile(entries, 'keyring', keyring) })
      return left
    },
  ],
  [
    'device_forked',
    'a merge of what a device wrote on two machines, by itself',
    '8.2',
    ({ left, right }) => {
      left.change([inLeft])
      right.change([ofB])
      left.merge(right)
      return left
    },
  ],
  [
    'device_forked',
    'a change by a device after a merge of what it wrote on two machines',
    '8.2',
    ({ left, right, second }) => {
      left.change([inLeft])
      right.change([ofB])
      left.merge(right, [], { author: second })
      left.change([ofB])
      return left
    },
  ],
]

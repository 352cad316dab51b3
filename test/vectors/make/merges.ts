// Vectors of histories that branched and were merged as they may be. FORMAT §6.4; of keyrings and
// forked devices only what a merge has to do with them.

import {
  endOfB,
  type Forging,
  inLeft,
  inRight,
  mergedOpen,
  mergedSettled,
  named,
  ofB,
  united,
} from '../../support/forged-clones.ts'
import {
  afterRedaction,
  backFromDeletion,
  endOfTwoEnds,
  endUnderOnePath,
  mergeOfMerges,
  moveOfTheirs,
  settingsByHeight,
} from '../../support/forged-merges.ts'

/** What a reader must say about the head that a forging makes. */
export type MergeCase = readonly [expect: string, name: string, clause: string, forging: Forging]

export const acceptedMerges: readonly MergeCase[] = [
  ['accepted', 'a merge without a row', '6.4', mergedSettled()],
  [
    'accepted',
    'a merge of what both changed, in a row with two bases',
    '6.4',
    mergedOpen([united]),
  ],
  [
    'accepted',
    'a merge with a row for what both changed and one for what one side did, and a change on top',
    '6.4',
    ({ left, right, asWriter }) => {
      left.change([inLeft, ofB])
      right.change([inRight], asWriter)
      left.merge(right, [united, { ...ofB, path: '/aside.md' }])
      left.change([{ ...united, content: 'after\n' }])
      return left
    },
  ],
  [
    'accepted',
    'a merge that deletes what both changed, under the path of one of them',
    '6.2',
    endUnderOnePath,
  ],
  ['accepted', 'a merge that brings back what one side deleted', '6.4', backFromDeletion],
  ['accepted', 'a merge of two deletions, under any path', '6.2', endOfTwoEnds],
  ['accepted', 'a merge that ends what is settled', '6.4', mergedSettled([endOfB])],
  ['accepted', 'a merge of a memory that one side created', '6.4', moveOfTheirs],
  ['accepted', 'a merge of the merges that two clones made of one pair', '6.4', mergeOfMerges],
  [
    'accepted',
    'a merge after a merge, where the version of one side is in the past of the other',
    '6.4',
    ({ left, right, asWriter }) => {
      left.change([inLeft])
      right.change([ofB], asWriter)
      const before = left.fork()
      left.merge(right)
      left.change([{ ...ofB, content: 'beta 3\n' }])
      right.merge(before, [], asWriter)
      right.change([{ ...inRight, content: 'a of both\n' }], asWriter)
      left.merge(right)
      return left
    },
  ],
  [
    'accepted',
    'a merge of settings that both changed at one height',
    '6.4',
    ({ left, right, second }) => {
      left.settings(named('left'))
      right.settings(named('right'), { author: second })
      left.merge(right)
      return left
    },
  ],
  ['accepted', 'a merge of settings by height, not by who merges', '6.4', settingsByHeight],
  [
    'accepted',
    'a merge under the epoch that one side began',
    '6.4',
    ({ left, right, asWriter }) => {
      right.change([inRight], asWriter)
      left.keyring((next) => next, { epoch: left.newEpoch() })
      left.merge(right)
      return left
    },
  ],
  ['accepted', 'a merge after a redaction on one side', '10', afterRedaction],
  [
    'accepted',
    'a merge of what a device wrote on two machines, by another one',
    '8.2',
    ({ left, right, second }) => {
      left.change([inLeft])
      right.change([ofB])
      left.merge(right, [], { author: second })
      return left
    },
  ],
]

// T7, T8: a merge of two clones cannot drop, prefer or invent versions against its rules; every
// permitted merge is accepted. FORMAT §6.4.
// @module-tag slow

import { beforeAll, describe, expect, test } from 'vitest'
import { parseCommit } from '../../src/format/commit.ts'
import { zeroHash, zeroId } from '../../src/format/record.ts'
import { type Fault, fields } from '../support/forge-fault.ts'
import {
  type Clones,
  endOfA,
  endOfB,
  type Forging,
  fresh,
  inLeft,
  inRight,
  mergedOpen,
  mergedSettled,
  named,
  ofB,
  spoiled,
  standardClones,
  united,
} from '../support/forged-clones.ts'
import {
  afterRedaction,
  backFromDeletion,
  endOfTwoEnds,
  endUnderErasedPath,
  endUnderOnePath,
  mergeOfMerges,
  moveOfTheirs,
  rowOfDeleted,
  settingsByHeight,
  treeOfOneSide,
  withAncestor,
} from '../support/forged-merges.ts'
import { accepted, memory, refused, verdicts, version } from '../support/standard-forge.ts'

let clones: () => Clones
beforeAll(async () => {
  clones = await standardClones('merges')
})

const heightOff: Fault = { record: (r) => ({ ...r, height: r.height + 1 }) }

describe('accepted: a merge', () => {
  test.each<[name: string, forging: Forging]>([
    ['of changes to different memories, without a row', mergedSettled()],
    ['of two changes to one memory', mergedOpen([united])],
    ['that deletes what both changed, under the path of one of them', endUnderOnePath],
    ['that deletes what both changed, under a path that is redacted later', endUnderErasedPath],
    ['that brings back what one deleted', backFromDeletion],
    ['of two deletions, under any path', endOfTwoEnds],
    ['that moves a memory which is settled', mergedSettled([{ ...ofB, path: '/aside.md' }])],
    ['that ends a memory which is settled, at the other side', mergedSettled([endOfB])],
    ['of a memory that only one side knows', moveOfTheirs],
    [
      'of heads that lie far apart in height',
      ({ left, right, asWriter }) => {
        for (const text of ['1\n', '2\n', '3\n', '4\n']) left.change([{ ...inLeft, content: text }])
        right.change([inRight], asWriter)
        left.merge(right, [united])
        right.merge(left.fork(), [])
        return left
      },
    ],
    ['by each of two clones, and of these merges', mergeOfMerges],
    [
      'after which both go on and merge again',
      ({ left, right, asWriter }) => {
        left.change([inLeft])
        right.change([inRight], asWriter)
        const before = left.fork()
        left.merge(right, [united])
        left.change([ofB])
        right.merge(before, [{ ...united, content: 'the other way\n' }], asWriter)
        right.change([inRight], asWriter)
        right.merge(left, [united], asWriter)
        right.change([ofB], asWriter)
        return right
      },
    ],
    ['of settings that one side changed twice', settingsByHeight],
    [
      'of settings that both sides changed at one height',
      ({ left, right, second }) => {
        left.settings(named('left'))
        right.settings(named('right'), { author: second })
        left.merge(right)
        left.settings(named('after'))
        return left
      },
    ],
    ['after a redaction on one side', afterRedaction],
  ])('%s', async (_, forging) => {
    expect(await verdicts(forging(clones()))).toEqual(accepted)
  })
})

describe('T8: a merge that breaks a rule is refused', () => {
  test.each<[code: string, name: string, forging: Forging, reference?: string]>([
    ['row_missing', 'no row for what both changed', mergedOpen([])],
    [
      'row_base_mismatch',
      'the bases in the wrong order',
      mergedOpen(
        [united],
        spoiled(({ base, secondBase }) => ({ base: secondBase, secondBase: base })),
      ),
    ],
    [
      'row_base_mismatch',
      'one base',
      mergedOpen(
        [united],
        spoiled(() => ({ secondBase: zeroId })),
      ),
    ],
    [
      'row_base_mismatch',
      'twice the same base',
      mergedOpen(
        [united],
        spoiled(({ base }) => ({ secondBase: base })),
      ),
    ],
    [
      'row_base_mismatch',
      'an older version as base',
      mergedOpen([{ ...united, base: version.a2 }]),
    ],
    [
      'row_base_mismatch',
      'a second base for what one side changed',
      mergedSettled([{ ...ofB, secondBase: version.b1 }]),
    ],
    [
      'row_base_mismatch',
      'the version before the one that is settled',
      mergedSettled([{ ...ofB, base: version.b1 }]),
    ],
    ['record_rows', 'a memory that it creates', mergedSettled([fresh])],
    [
      'row_memory_missing',
      'a row for a memory that nobody has',
      mergedSettled([{ ...fresh, operation: 'modified' }]),
    ],
    ['row_memory_missing', 'a row for what one side has deleted', rowOfDeleted],
    [
      'detail_mismatch',
      'a deletion under a path that neither has',
      mergedOpen([{ ...endOfA, path: '/third.md' }]),
    ],
    [
      'duplicate_record',
      'one record on both sides, on one of them with its version redacted',
      ({ left, asWriter }) => {
        left.change([inLeft])
        const twin = left.fork()
        twin.rewrite(new Set([left.memories.get(left.idOf(memory.a))?.versionId ?? '']))
        left.change([inLeft])
        twin.change([ofB], asWriter)
        left.merge(twin)
        return left
      },
    ],
    ['tree_mismatch', 'the tree of one side', treeOfOneSide],
    [
      'row_path_conflict',
      'two memories at one path',
      ({ left, right, asWriter }) => {
        left.change([{ ...inLeft, path: '/new.md' }])
        right.change([{ ...ofB, path: '/new.md' }], asWriter)
        left.merge(right)
        return left
      },
    ],
    ['record_height', 'another height', mergedSettled([], heightOff)],
    [
      'record_parents',
      'the parents of the commit in the other order',
      mergedSettled([], { parts: (p) => ({ ...p, parents: p.parents.toReversed() }) }),
    ],
    ['record_parents', 'a parent that is an ancestor of the other', withAncestor],
    [
      'record_parents',
      'a head that holds the other one',
      ({ left, right, asWriter }) => {
        right.change([ofB], asWriter)
        left.merge(right)
        return left
      },
    ],
    [
      'record_malformed',
      'two parents of a redaction',
      mergedSettled([], fields({ kind: 'redact', reason: 'legal' })),
      'record_malformed',
    ],
    [
      'redact_target',
      'a redaction of what only the other side has',
      ({ left, right, asWriter }) => {
        right.change([{ ...inRight, versionId: version.next }], asWriter)
        right.change([inRight], asWriter)
        right.rewrite(new Set([version.next]))
        left.redact([[memory.a, right.idOf(version.next)]])
        left.merge(right)
        return left
      },
    ],
    [
      'object_missing',
      'a tree that no row leads to, and that is not stored',
      ({ left, right, asWriter }) => {
        left.settings(named('left'))
        right.change([ofB], asWriter)
        const { tree } = parseCommit(left.objects.get(left.merge(right))?.body ?? new Uint8Array())
        left.objects.delete(tree)
        return left
      },
      // The reference decoder makes the tree again, too, and reads none.
      'accepted',
    ],
    [
      'tree_mismatch',
      'the settings of the other side',
      ({ left, right, second }) => {
        left.settings(named('left'))
        left.settings(named('left again'))
        right.settings(named('right'), { author: second })
        const settings = right.entries.at(-1)?.settings ?? ''
        const root: Fault['root'] = (entries) =>
          entries.map((one) => (one.name === 'settings' ? { ...one, oid: settings } : one))
        left.merge(right, [], { root })
        return left
      },
    ],
    [
      'record_sequence',
      'its author goes on from an older record',
      mergedSettled([], fields({ sequence: 3 })),
    ],
    ['record_chain', 'another previous record', mergedSettled([], fields({ previous: zeroHash }))],
    [
      'detail_malformed',
      'a detail for a row that it does not have',
      mergedSettled([], {
        details: () => [
          { row: 0, path: '/x.md', note: '', size: 0, sha256: zeroHash, blinding: zeroHash },
        ],
      }),
    ],
  ])('%s: %s', async (code, _, forging, reference) => {
    expect(await verdicts(forging(clones()))).toEqual(refused(code, reference))
  })
})

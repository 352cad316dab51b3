// Finds trees at the receiver that resemble trees of a pack to send. Git calls a pack with deltas
// on such trees thin (gitformat-pack, "Deltified representation"). Reads only what differs between
// two commits. Must not be used for a pack that is kept: it is incomplete.

import { asciiText } from '../../bytes.ts'
import { decodeTree, type GitObject, type Oid } from '../objects/object.ts'
import type { PackObject } from '../pack/pack-writer.ts'

type Find = (oid: Oid) => GitObject | undefined

/** Maps each tree of `newer` to the tree of `older` at the same path, where they differ. */
export function* findThinBases(
  find: Find,
  newer: Oid,
  older: Oid,
): Generator<undefined, ReadonlyMap<Oid, PackObject>> {
  const bases = new Map<Oid, PackObject>()
  const [after, before] = [rootOf(find, newer), rootOf(find, older)]
  if (after !== undefined && before !== undefined) yield* compare(find, bases, after, before)
  return bases
}

function* compare(
  find: Find,
  bases: Map<Oid, PackObject>,
  newer: Oid,
  older: Oid,
): Generator<undefined, void> {
  if (newer === older) return
  yield
  const [after, before] = [find(newer), find(older)]
  if (after?.type !== 'tree' || before?.type !== 'tree') return
  bases.set(newer, { oid: older, ...before })
  const olderTrees = subtrees(before)
  for (const [name, oid] of subtrees(after)) {
    const counterpart = olderTrees.get(name)
    if (counterpart !== undefined) yield* compare(find, bases, oid, counterpart)
  }
}

function subtrees({ body }: GitObject): ReadonlyMap<string, Oid> {
  const trees = decodeTree(body).filter(({ mode }) => mode === '40000')
  return new Map(trees.map(({ name, oid }) => [name, oid]))
}

function rootOf(find: Find, commit: Oid): Oid | undefined {
  const body = find(commit)?.body.subarray(0, 45)
  return body && /^tree ([0-9a-f]{40})/.exec(asciiText(body))?.[1]
}

// Which commits a fetch offers as known: few, closer together near the head, so that the other side
// finds one that both have, whatever was added or rewritten since.

import { parseLinks } from '../../format/commit.ts'
import type { Oid } from '../../git/objects/object.ts'
import { readCommitBytes } from '../commits/decoded-commit.ts'
import type { ObjectSource } from '../snapshot/git-reads.ts'

/** How far back is looked without a history in RAM. */
const WALK_MAX = 256

/**
 * Newest first. `known` are commits by position, if the history is in RAM; else it may be empty.
 */
export function chooseHaves(
  objects: ObjectSource,
  head: Oid,
  tracked: Oid | undefined,
  known: { readonly length: number; at(index: number): { readonly oid: Oid } | undefined },
): readonly Oid[] {
  const haves = new Set<Oid>([head])
  if (tracked !== undefined && objects.read(tracked) !== undefined) haves.add(tracked)
  for (const oid of walkBack(objects, head)) haves.add(oid)
  for (let back = WALK_MAX; back <= known.length; back *= 2) {
    const entry = known.at(-back)
    // Another process may have redacted since, and have given it another name.
    if (entry !== undefined && objects.read(entry.oid) !== undefined) haves.add(entry.oid)
  }
  return [...haves]
}

function* walkBack(objects: ObjectSource, head: Oid): Generator<Oid> {
  let next: Oid | undefined = head
  for (let back = 0, wanted = 1; back < WALK_MAX && next !== undefined; back += 1) {
    if (back === wanted) {
      yield next
      wanted *= 2
    }
    next = parseLinks(readCommitBytes(objects, next)).parents[0]
  }
}

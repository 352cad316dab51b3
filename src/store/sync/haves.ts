// Chooses the commits that a fetch offers as `have`: few, and closer together near the head, so
// that the remote finds a common one whatever was added or rewritten since.

import { parseLinks } from '../../format/commit.ts'
import type { Oid } from '../../git/objects/object.ts'
import { readCommitBytes } from '../commits/decoded-commit.ts'
import type { ObjectSource } from '../snapshot/git-reads.ts'

/** How many commits are walked back without a history in RAM. */
const WALK_MAX = 256

/**
 * Returns commits, newest first. `known` lists the commits of the history by position; it may be
 * empty if the history is not in RAM.
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
    // Another process may have redacted since, which gives the commit another id.
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

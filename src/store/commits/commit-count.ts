// Counts the commits in the past of a head without the history: from a commit with a known count,
// adding and subtracting where the two have diverged. Reads only the links of the commits in
// between.

import { parseLinks } from '../../format/commit.ts'
import type { Oid } from '../../git/objects/object.ts'
import { TimeSlice } from '../../time-slice.ts'
import type { ObjectSource } from '../snapshot/git-reads.ts'
import { readCommitBytes } from './decoded-commit.ts'
import { Frontier } from './frontier.ts'

/** The number of commits in the past of a commit, itself included. */
export interface CommitCount {
  readonly commit: Oid
  readonly commits: number
}

/** The count at `head`. Throws `object_missing` if the known commit has been erased. */
export async function countOn(
  objects: ObjectSource,
  known: CommitCount,
  head: Oid,
): Promise<CommitCount> {
  // Kept from when a commit is found until it is visited.
  const links = new Map<Oid, ReturnType<typeof parseLinks>>()
  const find = (oid: Oid): ReturnType<typeof parseLinks> => {
    const found = links.get(oid) ?? parseLinks(readCommitBytes(objects, oid))
    links.set(oid, found)
    return found
  }
  const frontier = new Frontier<Oid>((oid) => find(oid).height)
  frontier.add(head, 'ours')
  frontier.add(known.commit, 'theirs')
  const slice = new TimeSlice()
  let { commits } = known
  for (let next = frontier.take(); next !== undefined; next = frontier.take()) {
    if (next.reach === 'ours') commits += 1
    if (next.reach === 'theirs') commits -= 1
    for (const parent of find(next.commit).parents) frontier.add(parent, next.reach)
    links.delete(next.commit)
    if (slice.isOver()) await slice.next()
  }
  return { commit: head, commits }
}

// What is sound below a head that is refused: a repair takes that over before it puts ours in place
// of the head, or it would take from the others what they have pushed.

import { findLinks } from '../../git/object.ts'
import type { Oid } from '../../git/object.ts'
import type { ObjectSource } from '../git-reads.ts'
import type { History } from '../history.ts'
import type { StoreSession } from '../session.ts'
import type { VerifyOptions } from '../verify.ts'
import { isVerdict } from './refused.ts'
import { verifyTheirs } from './theirs.ts'
import type { Theirs } from './theirs.ts'

/** So many commits are tried: each that is refused may cost the verification of many. */
const TRIED_MAX = 64

/** The nearest ancestor of a refused head that verifies and is news here. */
export async function findSound(
  session: StoreSession,
  history: History,
  head: Oid,
  options: VerifyOptions,
): Promise<Theirs | undefined> {
  const reached = new Set(parentsOf(session.objects, head))
  let tried = 0
  for (const oid of reached) {
    if (tried === TRIED_MAX) return undefined
    if (history.commits.some((commit) => commit.oid === oid)) continue
    tried += 1
    try {
      return await verifyTheirs(session, history, oid, options)
    } catch (error) {
      if (!isVerdict(error)) throw error
      for (const parent of parentsOf(session.objects, oid)) reached.add(parent)
    }
  }
  return undefined
}

function parentsOf(objects: ObjectSource, oid: Oid): readonly Oid[] {
  const object = objects.read(oid)
  return object?.type === 'commit' ? (findLinks(object.body)?.parents ?? []) : []
}

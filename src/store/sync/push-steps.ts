// Divides a large push into steps, so that what has arrived stays if the connection fails. Must
// name only heads that every reader accepts as they are (FORMAT §8.1).

import type { Oid } from '../../git/objects/object.ts'
import { MEBIBYTE } from '../../limits.ts'
import { inSlices } from '../../time-slice.ts'
import { decodeCommit, readCommitBytes } from '../commits/decoded-commit.ts'
import { findOutgoing, objectsOf, type OutgoingCommit } from '../commits/outgoing.ts'
import type { StoreSession } from '../session/session.ts'

/** A push of more than this is sent in steps of about this size. */
export const pushStepBytes: number = 32 * MEBIBYTE

/** Commits, each after its parents. The last one is then the head of the remote. */
export type PushStep = readonly OutgoingCommit[]

export interface LargePush {
  readonly head: Oid
  /** The head of the remote, unless it has none. A redaction may have erased it here. */
  readonly expected: Oid | undefined
  /** Commits of ours that the remote has with all that is behind them. */
  readonly there: readonly Oid[]
  /** Size of a pack of all that is sent. */
  readonly bytes: number
}

/** A single step where the history leaves no choice. */
export async function planPushSteps(
  session: StoreSession,
  { head, expected, there, bytes }: LargePush,
  { stepBytes, signal }: { readonly stepBytes: number; readonly signal: AbortSignal | undefined },
): Promise<readonly PushStep[]> {
  const commits = await findOutgoing(session.objects, head, there)
  const ends = await inSlices(findEnds(session, commits, expected), signal)
  if (ends.size === 0) return [commits]
  const sizes = await inSlices(sizesOf(session, commits, there), signal)
  // Trees are far smaller in a pack: these sizes only say how the pack divides.
  const total = sizes.reduce((sum, size) => sum + size, 0)
  return divide(sizes, ends, (stepBytes * total) / bytes).map(([from, to]) => {
    return commits.slice(from, to)
  })
}

/**
 * The positions of the commits that may be the head of the remote for a while: all commits before
 * such a commit are in its past, and all after it descend from it, so that its author had it as the
 * head once. None has a redaction after it: what that erased is absent in the past already, which
 * without the record of it is `detail_missing`. None if the history was rewritten since `expected`.
 */
function* findEnds(
  session: StoreSession,
  commits: readonly OutgoingCommit[],
  expected: Oid | undefined,
): Generator<undefined, ReadonlySet<number>> {
  const ends = new Set<number>()
  const isBuiltUpon = ({ parents }: OutgoingCommit): boolean =>
    expected === undefined || parents.includes(expected)
  if (!commits.some(isBuiltUpon)) return ends
  const positions = new Map(commits.map(({ oid }, position) => [oid, position]))
  /** Of the parents of all commits after the one that is looked at. */
  let oldestParent = commits.length
  for (let position = commits.length - 1; position > 0; position -= 1) {
    const commit = commits[position]
    if (commit === undefined || kindOf(session, commit.oid) === 'redact') return ends
    for (const parent of commit.parents) {
      oldestParent = Math.min(oldestParent, positions.get(parent) ?? -1)
    }
    if (oldestParent === position - 1) ends.add(position - 1)
    yield
  }
  return ends
}

function kindOf({ objects, storeId, epochs }: StoreSession, oid: Oid): string {
  return decodeCommit(storeId, epochs, oid, readCommitBytes(objects, oid)).record.kind
}

/** How many bytes each commit brings, with its objects. */
function* sizesOf(
  { objects }: StoreSession,
  commits: readonly OutgoingCommit[],
  known: readonly Oid[],
): Generator<undefined, readonly number[]> {
  const sizes: number[] = []
  let size = 0
  for (const oid of objectsOf(objects, commits, known)) {
    yield
    if (oid === undefined) continue
    size += objects.read(oid)?.body.length ?? 0
    if (oid !== commits[sizes.length]?.oid) continue
    sizes.push(size)
    size = 0
  }
  return sizes
}

/** As few ranges as these ends allow, none of more than `sizeMax` unless it cannot be divided. */
function divide(
  sizes: readonly number[],
  ends: ReadonlySet<number>,
  sizeMax: number,
): readonly (readonly [from: number, to: number])[] {
  const ranges: (readonly [number, number])[] = []
  let from = 0
  let size = 0
  let end = { to: 0, size: 0 }
  for (const [position, more] of sizes.entries()) {
    size += more
    if (size > sizeMax && end.to > from) {
      ranges.push([from, end.to])
      from = end.to
      size -= end.size
    }
    if (ends.has(position)) end = { to: position + 1, size }
  }
  return [...ranges, [from, sizes.length]]
}

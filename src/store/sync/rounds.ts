// Runs rounds of fetch, verify, reconcile and push, until no other clone has pushed meanwhile. Two
// clones that race for the branch both finish: the loser takes over what the winner has pushed.

import { hasCode } from '../../errors.ts'
import type { Remote } from '../../git/exchange.ts'
import type { Author } from '../commits/commit-context.ts'
import { type Conflict, findConflicts } from '../history/conflicts.ts'
import { findRecord } from '../history/find-record.ts'
import type { History } from '../history/history.ts'
import { askInSlices, retryAfterRedaction } from '../history/retry-after-redaction.ts'
import { beginningOf, hasMoved } from '../session/one-state.ts'
import type { StoreSession } from '../session/session.ts'
import type { Head } from '../snapshot/snapshot.ts'
import type { SyncOptions } from './options.ts'
import type { Sender } from './push.ts'
import { Receiver } from './receive.ts'
import type { LateChange } from './refusals.ts'
import type { RemoteState } from './remote-state.ts'
import { addResult, type Moved, nothingMoved, nothingSent } from './report.ts'

/** The number of rounds: other clones may win the race for the branch in all but the last. */
const ATTEMPTS = 16
/**
 * The number of rounds while an object is missing or the branch is locked, which may last: a push
 * that is running holds the lock for a moment, one that died holds it for good.
 */
const ATTEMPTS_LASTING = 4
/**
 * Right after another clone has pushed, the next race is won most easily. Of many clones that push
 * at once, those that lose more often wait longer.
 */
const ATTEMPTS_SOON = 4
const PAUSE_MS = 100
/**
 * After a lost race our own commands wait for the further rounds, but no longer than this. If they
 * never stop, each round has more to send than the one before and gets half of the processor, so
 * that another clone has pushed each time that it is done.
 */
const HOLD_MS = 2000

/** One remote, with its state and the sender to it. */
interface Peer {
  readonly remote: Remote
  readonly known: RemoteState
  readonly sender: Sender
}

/** Returns what all rounds took over, and what arrived of what was sent. Throws as `syncStore`. */
export async function receiveAndSend(
  session: StoreSession,
  { remote, known, sender }: Peer,
  author: Author,
  options: SyncOptions,
): Promise<Moved> {
  const receiver = new Receiver(session, remote, known, options)
  const before = await session.reading(({ head }) => head)
  const total = { commits: 0, bytes: 0 }
  let reconciled = nothingMoved
  const late = new Map<string, LateChange>()
  let isBehind = false
  const round = async (): Promise<Moved> => {
    // A push alone takes nothing over, so another round cannot help if the remote has moved.
    isBehind = options.only === 'push'
    const received = await receiver.receive(author)
    isBehind = false
    total.commits += received.commits
    total.bytes += received.bytes
    reconciled = addResult(reconciled, received.reconciled)
    // Another round may find them again.
    for (const change of received.late) late.set(change.commit, change)
    const sent = options.only === 'pull' ? nothingSent : await sender.send(received.head)
    const { hasMerges, merge, outcomes, settings, builtOnRedacted, erased, hasRepeated } =
      reconciled
    const mergedElsewhere = hasMerges ? await findMergedElsewhere(session, before, options) : []
    const made = {
      merge,
      outcomes,
      mergedElsewhere,
      settings,
      builtOnRedacted,
      erased,
      hasRepeated,
    }
    return { received: total, ...made, late: [...late.values()], sent }
  }
  return repeat(session, round, () => isBehind)
}

/** Until a round is not overtaken, or too many were. */
async function repeat<T>(
  session: StoreSession,
  round: () => Promise<T>,
  isBehind: () => boolean,
): Promise<T> {
  let goOn: (() => void) | undefined
  try {
    for (let attempt = 1; ; attempt += 1) {
      const beginning = beginningOf(session)
      try {
        return await round()
      } catch (error) {
        const isLost = hasCode(error, 'remote_moved')
        const isFinal = attempt >= attemptsFor(error) || (isBehind() && isLost)
        if (isFinal || !(await hasMoved(session, beginning, error))) throw error
        if (isLost) goOn ??= session.holdBack(HOLD_MS)
        await wait(session.random(1)[0] ?? 0, isLost && attempt <= ATTEMPTS_SOON ? 1 : attempt)
      }
    }
  } finally {
    goOn?.()
  }
}

function attemptsFor(error: unknown): number {
  return hasCode(error, 'object_missing', 'remote_locked') ? ATTEMPTS_LASTING : ATTEMPTS
}

/** The merges of other devices above `before`; this device may have merged more than once since. */
async function findMergedElsewhere(
  session: StoreSession,
  before: Head,
  options: SyncOptions,
): Promise<readonly Conflict[]> {
  const { deviceId: own } = session.identity
  const find = function* (history: History): Generator<undefined, readonly Conflict[]> {
    const known = findRecord(session, history, before)
    // Not in the history any more: it was late (FORMAT §7.4).
    if (known === undefined) return []
    const isKnown = history.pastOf(known)
    return yield* findConflicts(history, { limit: Infinity }, ({ position, deviceId }) => {
      return deviceId !== own && !isKnown(position)
    })
  }
  const ask = (history: History): Promise<readonly Conflict[]> =>
    askInSlices(history, () => find(history), options.signal)
  return retryAfterRedaction(session, ask, options)
}

/** Waits for a random time, so that two clones that lost a race do not collide again. */
async function wait(jitter: number, attempt: number): Promise<void> {
  const ms = PAUSE_MS * attempt * (0.5 + jitter / 255)
  await new Promise((resolve) => setTimeout(resolve, ms))
}

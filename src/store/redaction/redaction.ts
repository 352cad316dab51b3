// Redaction (FORMAT §10): the history is rewritten without some versions, a record on top says so,
// and the object store erases what is left of them. One move of the branch: the old history or the
// new, never half.

import type { WorkOptions } from '../../async.ts'
import { hasCode, StoreError } from '../../errors.ts'
import { checkPath } from '../../format/path.ts'
import { isRedactReason } from '../../format/record.ts'
import { checkMayWrite } from '../access/authority.ts'
import type { Author } from '../commits/commit-context.ts'
import type { BuiltCommit } from '../commits/commit.ts'
import { retryAfterRedaction } from '../history/retry-after-redaction.ts'
import type { StoreSession } from '../session/session.ts'
import { otherDevices, type PendingDevice } from './acknowledgement.ts'
import { type RedactionCertificate, signCertificate } from './certificate.ts'
import {
  checkConfirmed,
  describePlan,
  type RedactionPlan,
  type RedactionRequest,
  Selector,
} from './redaction-plan.ts'
import { buildStep, type Outcome } from './redaction-step.ts'

export interface Redaction {
  readonly plan: RedactionPlan
  /** What was done, signed by this device. Undefined if there was nothing to erase. */
  readonly certificate: RedactionCertificate | undefined
  /**
   * The other devices, whose copies hold the erased objects until they sync; none if there was
   * nothing to erase. Later, `devices` tells which of them have taken it over.
   */
  readonly pendingDevices: readonly PendingDevice[]
}

const choices: ReadonlySet<unknown> = new Set(['refuse', 'delete', 'overwrite', 'keep'])

/** What `redact` would do; says it also where that would be refused. */
export async function planRedaction(
  session: StoreSession,
  request: RedactionRequest,
  options: WorkOptions,
): Promise<RedactionPlan> {
  const selector = await search(session, request, options)
  return session.planning(async () => {
    const history = await session.historyNow(options)
    const selected = await selector.search(history, options)
    return describePlan(history, session.snapshot, selected, request.current).plan
  })
}

/**
 * Throws `version_current`, `precondition_failed`, `store_archived`, `permission_denied`,
 * `invalid_input` or `not_found`, with nothing changed. An error with a certificate in its details
 * means that the versions are redacted and the old objects not erased yet: the next checkpoint, or
 * the same call again, goes on with that. No free text is kept, the reason of the author neither.
 */
export async function redact(
  session: StoreSession,
  request: RedactionRequest,
  { actor, session: context }: Author,
  options: WorkOptions,
): Promise<Redaction> {
  const author: Author = { actor, session: context }
  if (!isRedactReason(request.reason)) {
    throw new StoreError('invalid_input', 'The reason code of the redaction is not one of the list')
  }
  if (request.current !== undefined && !choices.has(request.current)) {
    throw new StoreError('invalid_input', 'What to do with current versions is not one of the list')
  }
  // The long search comes before any other writer has to wait.
  const selector = await search(session, request, options)
  const done = await session.writing(
    () => step(session, selector, { request, author }, options),
    true,
  )
  const { plan, outcome, pendingDevices } = done
  // Also if nothing was to be done: an earlier attempt may have been cut off before this.
  if (outcome === undefined) {
    await session.erase()
    return { plan, certificate: undefined, pendingDevices }
  }
  const erased = new Set(outcome.erased.map(({ versionId }) => versionId))
  await session.forget(outcome.oldHead, outcome.rewritten.commits, erased)
  const certify = (): RedactionCertificate => signCertificate(session, request, author, outcome)
  try {
    await session.erase()
  } catch (error) {
    // Closing the store erases too. What is done must not be taken for refused.
    if (!hasCode(error, 'store_closed')) throw withCertificate(error, certify)
  }
  return { plan, certificate: certify(), pendingDevices }
}

/** Another call would find nothing to do, so that this is where the proof would be lost. */
function withCertificate(error: unknown, certify: () => RedactionCertificate): unknown {
  if (!(error instanceof StoreError)) return error
  const details = { ...error.details, certificate: certify() }
  return new StoreError(error.code, error.message, { cause: error, details })
}

async function step(
  session: StoreSession,
  selector: Selector,
  { request, author }: { readonly request: RedactionRequest; readonly author: Author },
  options: WorkOptions,
): Promise<{ readonly built: BuiltCommit | undefined; readonly result: Done }> {
  checkMayWrite(session.snapshot, session.identity.deviceId, 'redact')
  const history = await session.historyNow(options)
  const selected = await selector.search(history, options)
  const { plan, entries } = describePlan(history, session.snapshot, selected, request.current)
  const nothing: Done = { plan, outcome: undefined, pendingDevices: [] }
  if (entries.length === 0) return { built: undefined, result: nothing }
  checkConfirmed(request, entries)
  const { built, outcome } = await buildStep(
    session,
    history,
    { entries, request, author },
    options,
  )
  const pendingDevices = otherDevices(session.snapshot, session.identity.deviceId)
  return { built, result: { plan, outcome, pendingDevices } }
}

interface Done {
  readonly plan: RedactionPlan
  readonly outcome: Outcome | undefined
  readonly pendingDevices: readonly PendingDevice[]
}

async function search(
  session: StoreSession,
  request: RedactionRequest,
  options: WorkOptions,
): Promise<Selector> {
  const { path } = request.select
  if (path !== undefined && path !== '/') checkPath(path)
  const history = await session.loadHistory(options)
  const selector = new Selector(request.select, history, session.nextTime(), () => session.contents)
  // Asked again, the search goes on where it stopped.
  await retryAfterRedaction(session, (newest) => selector.search(newest, options), options)
  return selector
}

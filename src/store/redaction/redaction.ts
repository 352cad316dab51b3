// Redaction (FORMAT §10): rewrites the history without some versions, adds a redact record on top,
// and has the object store erase the old objects. Must move the branch once, so that a crash leaves
// either the old history or the new one.

import type { WorkOptions } from '../../async.ts'
import { toHex } from '../../bytes.ts'
import { hasCode, StoreError } from '../../errors.ts'
import { checkPath } from '../../format/path.ts'
import { isRedactReason } from '../../format/record.ts'
import { inSlices } from '../../time-slice.ts'
import { checkMayWrite } from '../access/authority.ts'
import type { Author } from '../commits/commit-context.ts'
import type { BuiltCommit } from '../commits/commit.ts'
import { authorTexts } from '../guard/guard.ts'
import { readConsistently } from '../history/read-consistently.ts'
import type { StoreSession } from '../session/session.ts'
import { otherDevices, type PendingDevice } from './acknowledgement.ts'
import { findReached } from './certificate-check.ts'
import { type RedactionCertificate, repeatedIn, signCertificate } from './certificate.ts'
import { keepErased, settleErased, sweepErased } from './past-redactions.ts'
import {
  checkConfirmed,
  Planner,
  type RedactionPlan,
  type RedactionRequest,
} from './redaction-plan.ts'
import { buildStep, type Outcome } from './redaction-step.ts'

export interface Redaction {
  readonly plan: RedactionPlan
  /** The signed certificate; undefined if there was nothing to erase. */
  readonly certificate: RedactionCertificate | undefined
  /**
   * The other devices, whose copies hold the erased objects until they sync; empty if there was
   * nothing to erase. Later, `devices` reports which of them have acknowledged it.
   */
  readonly pendingDevices: readonly PendingDevice[]
}

const choices: ReadonlySet<unknown> = new Set(['refuse', 'delete', 'overwrite', 'keep'])

/** Plans what `redact` would do, even if that would be refused. */
export async function planRedaction(
  session: StoreSession,
  request: RedactionRequest,
  options: WorkOptions,
): Promise<RedactionPlan> {
  const planner = plannerOf(session, request)
  const { plan } = await readConsistently(session, (past) => planner.plan(past, options), options)
  return plan
}

/**
 * Throws `version_current`, `precondition_failed`, `store_archived`, `permission_denied`,
 * `invalid_input` or `not_found`, with nothing changed. An error with a certificate in its details
 * means that the versions are redacted, but the old objects are not erased yet: the next checkpoint
 * or another call erases them. Keeps no free text, not even the author's reason.
 */
export async function redact(
  session: StoreSession,
  request: RedactionRequest,
  { actor, session: context }: Author,
  options: WorkOptions,
): Promise<Redaction> {
  const author: Author = { actor, session: context }
  if (!isRedactReason(request.reason)) {
    throw new StoreError('invalid_input', 'The reason code of the redaction is not a known one')
  }
  if (request.current !== undefined && !choices.has(request.current)) {
    throw new StoreError('invalid_input', 'The choice for current versions is not a known one')
  }
  const planner = plannerOf(session, request)
  // The long search runs before the writer lock is taken, and its plan holds for the same head.
  await readConsistently(session, (past) => planner.plan(past, options), options)
  const done = await session.writing(
    () => planAndBuild(session, planner, { request, author }, options),
    true,
  )
  const { plan, outcome, pendingDevices } = done
  // Even if nothing was selected: an earlier attempt may have been interrupted before erasing.
  if (outcome === undefined) {
    await session.erase()
    return { plan, certificate: undefined, pendingDevices }
  }
  const erased = new Set(outcome.erased.map(({ versionId }) => versionId))
  await session.forget(outcome.oldHead, outcome.rewritten.commits, erased)
  const certify = (): RedactionCertificate =>
    signCertificate(session, request, author, { plan, outcome })
  try {
    await session.erase()
    settleErased(session.erasures, recordsOf(outcome))
  } catch (error) {
    // Closing the store erases too. A redaction that is done must not look refused.
    if (!hasCode(error, 'store_closed')) throw await withCertificate(session, error, certify)
  }
  return { plan, certificate: certify(), pendingDevices }
}

/** Adds the certificate to an error: another call would find nothing to do and give none. */
async function withCertificate(
  { contents }: StoreSession,
  error: unknown,
  certify: () => RedactionCertificate,
): Promise<unknown> {
  if (!(error instanceof StoreError)) return error
  const certificate = certify()
  const { new_head: head, object_ids: oids } = certificate
  // The purge refuses to erase objects that the history needs; then no certificate claims that it
  // did.
  const isChecked = !hasCode(error, 'journal_corrupt')
  if (!isChecked && (await inSlices(findReached(contents.objects, head, oids))) !== undefined) {
    return error
  }
  const details = { ...error.details, certificate }
  return new StoreError(error.code, error.message, { cause: error, details })
}

/** Without an outcome if there was nothing to erase. */
async function planAndBuild(
  session: StoreSession,
  planner: Planner,
  { request, author }: { readonly request: RedactionRequest; readonly author: Author },
  options: WorkOptions,
): Promise<{
  readonly built: BuiltCommit | undefined
  readonly result: Omit<Redaction, 'certificate'> & { readonly outcome: Outcome | undefined }
}> {
  checkMayWrite(session.snapshot, session.identity, 'redact')
  // As the commit at the end would, before the long work.
  await session.checkPermanent(authorTexts(author))
  const history = await session.historyNow(options)
  await inSlices(sweepErased(session, history), options.signal)
  const { plan, entries, current } = await inSlices(planner.plan(history, options), options.signal)
  if (entries.length === 0) {
    return { built: undefined, result: { plan, outcome: undefined, pendingDevices: [] } }
  }
  checkConfirmed(request, entries)
  const { built, outcome } = await buildStep(
    session,
    history,
    { entries, current, request, author },
    options,
  )
  const { oldHead, rewritten } = outcome
  await keepErased(session.erasures, {
    records: recordsOf(outcome),
    oldHead,
    objectIds: [...rewritten.dead],
    mayRepeat: repeatedIn(plan),
  })
  const pendingDevices = otherDevices(session.snapshot, session.identity.deviceId)
  return { built, result: { plan, outcome, pendingDevices } }
}

function recordsOf({ heads }: Outcome): readonly string[] {
  return heads.map(({ record }) => toHex(record))
}

function plannerOf(session: StoreSession, request: RedactionRequest): Planner {
  const { path } = request.select
  if (path !== undefined && path !== '/') checkPath(path)
  return new Planner(request, session.nextTime(), () => session.contents)
}

// Syncs with one remote, or with all of them one after the other, as a member or an auditor. A
// failing remote does not stop the others.

import { StoreError, hasCode, type ErrorDetails } from '../../errors.ts'
import { syncExitCodes } from '../../operations/exit-codes.ts'
import { pageJson } from '../../operations/wire.ts'
import type { Author } from '../../store/commits/commit-context.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import type { RemoteStatus } from '../../store/sync/remote-state.ts'
import type { Redo, StoreSyncOptions, SyncReport } from '../../store/sync/report.ts'
import { type Answer, type Context, type Input, usageError } from '../call/command.ts'
import { authorOf } from '../call/options.ts'
import { remoteAccess } from '../machine/remote-access.ts'
import { inkOf } from '../terminal/ink.ts'
import { errorJson, exitCodeOf } from '../terminal/output.ts'
import { withProgress } from '../terminal/progress.ts'
import { askYes, canAsk } from '../terminal/prompt.ts'
import type { DeviceNames } from '../text/device-text.ts'
import { reportJson, reportText, wasCombined } from '../text/sync-text.ts'
import { getIdentity, withStore } from './open-store.ts'

/** Without it, both. */
export type Half = 'pull' | 'push' | undefined

/** The result of one remote. */
export type RemoteOutcome =
  | { readonly remote: string; readonly report: SyncReport; readonly names: DeviceNames }
  | { readonly remote: string; readonly error: unknown }

/** One outcome for each remote; one also without remotes. Throws what opening the store throws. */
export async function syncRemotes(
  context: Context,
  input: Input,
  only: Half,
): Promise<readonly RemoteOutcome[]> {
  const author = authorOf(context, input)
  const named = input.findArgument(0)
  const repair = input.flag('repair')
  if (repair && input.flag('take-theirs')) {
    throw usageError('--repair keeps the local side, --take-theirs the remote one', 'sync')
  }
  const auditing = { sync: trailSync(context, input), status: undefined, names: none, only, repair }
  try {
    const outcomes = await withStore(context, async (store) => {
      const remotes =
        named === undefined ? (await store.remotes.list()).map(({ name }) => name) : [named]
      const syncOne: Turn['sync'] = (how) => syncMember(context, store, author, how, input)
      const status = async () => (await store.status()).remotes
      const turn = { sync: syncOne, status, names: () => store.devices.names(), only, repair }
      if (remotes.length > 1) return syncAll(context, turn, remotes)
      return [await attempt(context, turn, remotes[0])]
    })
    return only === 'push' ? outcomes : await asAuditor(context, auditing, outcomes)
  } catch (error) {
    // An auditor cannot open the store, and has nothing to send.
    if (!hasCode(error, 'permission_denied') || only === 'push') throw error
    return [await attempt(context, auditing, named)]
  }
}

/** Syncs as an auditor with each remote that shows that this device has become one. */
async function asAuditor(
  context: Context,
  auditing: Turn,
  outcomes: readonly RemoteOutcome[],
): Promise<readonly RemoteOutcome[]> {
  const found: RemoteOutcome[] = []
  for (const outcome of outcomes) {
    const { remote } = outcome
    found.push(isOfAuditor(outcome) ? await attempt(context, auditing, remote) : outcome)
  }
  return found
}

function isOfAuditor(outcome: RemoteOutcome): boolean {
  if ('report' in outcome || !(outcome.error instanceof StoreError)) return false
  return outcome.error.details.role === 'auditor'
}

const none = async (): Promise<DeviceNames> => new Map()

interface Turn {
  readonly sync: (options: StoreSyncOptions) => Promise<SyncReport>
  /** The remotes as this device knows them; undefined for an auditor. */
  readonly status: (() => Promise<readonly RemoteStatus[]>) | undefined
  /** Those of the devices; an auditor's reports name none but new ones. */
  readonly names: () => Promise<DeviceNames>
  readonly only: Half
  readonly repair: boolean
}

function trailSync({ environment }: Context, input: Input): Turn['sync'] {
  const { storeDirectory: directory, stateDirectory } = environment
  const acceptRolledBack = input.flag('accept-rolled-back')
  return async (options) => {
    if (options.repair === true) {
      throw usageError('--repair is for members; an auditor takes --accept-rolled-back', 'sync')
    }
    // Loaded on demand: few devices are auditors.
    const { syncTrail } = await import('../../store/audit/trail.ts')
    const places = { directory, stateDirectory, identity: getIdentity(environment) }
    return syncTrail({ ...places, ...options, acceptRolledBack })
  }
}

function redoOf(input: Input): readonly Redo[] {
  const text = input.text('redo')
  if (text === undefined) return []
  if (!input.flag('repair')) throw usageError('--redo needs --repair', 'sync')
  return text.split(',').map((one) => {
    if (one === 'redactions' || one === 'members') return one
    throw usageError('--redo takes redactions, members, or both with a comma', 'sync')
  })
}

/** A device that has become an auditor is a member here until a remote shows the change. */
async function syncMember(
  context: Context,
  store: MemoryStore,
  author: Author,
  options: StoreSyncOptions,
  input: Input,
): Promise<SyncReport> {
  const takeTheirs = input.flag('take-theirs')
  const mergeHeld = input.text('merge-held')
  const syncOne = (held: string | undefined): Promise<SyncReport> =>
    store.as(author).sync({ ...options, takeTheirs, mergeHeld: held, redo: redoOf(input) })
  try {
    return await syncOne(mergeHeld)
  } catch (error) {
    if (hasCode(error, 'rolled_back') && input.flag('accept-rolled-back')) {
      throw usageError('--accept-rolled-back is for auditors; a member takes --repair', 'sync')
    }
    const held = hasCode(error, 'merge_held') ? error.details : undefined
    if (held?.commit === undefined || !(await mayMerge(context, store, held))) throw error
    return syncOne(held.commit)
  }
}

/** Shows an owner what a merge would erase, and asks. */
async function mayMerge(
  context: Context,
  store: MemoryStore,
  { versionIds = [] }: ErrorDetails,
): Promise<boolean> {
  if (!canAsk(context)) return false
  const lines = await Promise.all(
    versionIds.map(async (id) => {
      const version = await store.history.version(id).catch(() => undefined)
      return `${id}  ${version?.path ?? '(unknown here)'}`
    }),
  )
  const erased = versionIds.length === 0 ? '' : `, and erase these versions:\n${lines.join('\n')}\n`
  const question = `A former owner has redacted or set something. Merge it${erased}?`
  return askYes(context, question)
}

/** Syncs with all remotes, then sends the changes of later ones to the earlier ones. */
async function syncAll(
  context: Context,
  turn: Turn,
  names: readonly string[],
): Promise<readonly RemoteOutcome[]> {
  const outcomes = new Map<string, RemoteOutcome>()
  let hasReceived = false
  for (const name of names) {
    const outcome = await attempt(context, turn, name)
    outcomes.set(name, outcome)
    if ('report' in outcome && outcome.report.received.commits > 0) hasReceived = true
  }
  if (!hasReceived || turn.only === 'pull') return [...outcomes.values()]
  for (const [name, outcome] of outcomes) {
    if ('error' in outcome) continue
    const again = await attempt(context, { ...turn, only: 'push' }, name)
    if ('error' in again) outcomes.set(name, again)
  }
  return [...outcomes.values()]
}

async function attempt(
  context: Context,
  turn: Turn,
  remote: string | undefined,
): Promise<RemoteOutcome> {
  try {
    const report = await syncWith(context, turn, remote)
    return { remote: report.remote, report, names: await turn.names() }
  } catch (error) {
    if (context.interrupts.signal.aborted) throw error
    return { remote: remote ?? '', error: await explainedBy(context, turn, remote, error) }
  }
}

async function explainedBy(
  { environment }: Context,
  { status }: Turn,
  remote: string | undefined,
  error: unknown,
): Promise<unknown> {
  // Loaded on demand: most syncs succeed.
  const { explainSync } = await import('../text/remote-failure.ts')
  const hasGrant = environment.grant !== undefined
  const known = await status?.().catch(() => [])
  const found = known?.find(({ name }) => name === remote)
  return explainSync(error, { remote, status: found, isAuditor: status === undefined, hasGrant })
}

function syncWith(
  context: Context,
  { sync: syncOne, only, repair }: Turn,
  remote: string | undefined,
): Promise<SyncReport> {
  const ending = 'Ended; local work is safe, and the next sync continues'
  return context.interrupts.patiently(ending, () =>
    withProgress(context, 'Verifying', (shown) => {
      return syncOne({ remote, only, repair, access: remoteAccess(context), ...shown })
    }),
  )
}

export function answerOf(context: Context, outcomes: readonly RemoteOutcome[]): Answer {
  const ink = inkOf(context)
  const texts = outcomes.map((outcome) => {
    return 'report' in outcome ? reportText(context, ink, outcome.report, outcome.names) : ''
  })
  const values = outcomes.map((outcome) => {
    if ('report' in outcome) return reportJson(outcome.report, outcome.names)
    return { remote: outcome.remote, ...errorJson(outcome.error) }
  })
  const failures = outcomes.flatMap((outcome) => ('error' in outcome ? [outcome.error] : []))
  const json = values.length === 1 ? values[0] : pageJson(values)
  const exitCode = failures.length > 0 ? detailedExitCode(outcomes) : 0
  return { text: texts.join(''), inked: true, json, failures, exitCode }
}

/** Errors take precedence over conflicts, conflicts over transfers. */
export function detailedExitCode(outcomes: readonly RemoteOutcome[]): number {
  for (const outcome of outcomes) if ('error' in outcome) return exitCodeOf(outcome.error)
  const reports = outcomes.flatMap((outcome) => ('report' in outcome ? [outcome.report] : []))
  if (reports.some((report) => report.outcomes.some(wasCombined)))
    return syncExitCodes.conflictsKept
  return reports.some(hasMoved) ? 0 : syncExitCodes.upToDate
}

/** Whether a sync transferred anything. */
export function hasMoved({ received, sent }: SyncReport): boolean {
  return received.commits + sent.commits > 0
}

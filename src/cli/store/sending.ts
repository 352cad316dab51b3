// Changes that a command sends without being asked, while it works and at its end. Reports each
// failure once, and at the end the commits that were not sent, on standard error.

import { StoreError } from '../../errors.ts'
import { type AutoSyncOptions, type Unsent, unsentText } from '../../store/auto-sync.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import type { SyncReport } from '../../store/sync/report.ts'
import { CommandError, type Context } from '../call/command.ts'
import { remoteAccess } from '../machine/remote-access.ts'
import { plainInk } from '../terminal/ink.ts'
import { errorText, stderrColumns } from '../terminal/output.ts'

/** How a command sends. */
export interface Sends extends Pick<AutoSyncOptions, 'everyMs' | 'endMs' | 'report'> {
  /** The service account that is the author of merges. */
  readonly actor: string
}

/** What a second Ctrl-C or SIGTERM prints. */
const ENDING = 'Ended; changes that were not sent are on this machine only'

/**
 * Runs `work`. With `sends`, changes that this process writes are sent within seconds, and the rest
 * at the end.
 */
export async function sending<T>(
  context: Context,
  store: MemoryStore,
  sends: Sends | undefined,
  work: () => Promise<T>,
): Promise<T> {
  if (sends === undefined) return work()
  const reporter = new Reporter()
  const report: Sends['report'] = (remote, error) => reporter.report(remote, error)
  const finish = startSending(context, store, { report, ...sends })
  let hasFailed = true
  try {
    const result = await work()
    hasFailed = false
    return result
  } finally {
    // The commits that were not sent are reported with the reason.
    reporter.end()
    const unsent = (await finish()).map(unsentError)
    // An error of the command comes last, and gives the exit code. A device keeps its changes.
    if (hasFailed || context.environment.grant === undefined) unsent.forEach(print)
    else context.unsent.push(...unsent)
  }
}

/**
 * Call the result at the end: it sends the rest, and returns the commits that remotes lack, once
 * all is printed.
 */
export function startSending(
  context: Context,
  store: MemoryStore,
  { actor, ...options }: Sends,
): () => Promise<readonly Unsent[]> {
  const { interrupts } = context
  let printing: Promise<void> = Promise.resolve()
  const synced = (report: SyncReport): void => {
    printing = printing.then(() => printBegunAnew(context, report)).catch(print)
  }
  const autoSync = store.syncAutomatically({
    author: { actor: { type: 'service_account', id: actor } },
    access: remoteAccess(context),
    interrupted: interrupts.signal,
    synced,
    ...options,
  })
  return async () => {
    const unsent = await interrupts.untilStopped(ENDING, () => autoSync.finish())
    await printing
    return unsent
  }
}

/** As a command that fails prints it. */
export function unsentError(unsent: Unsent): CommandError {
  const { error } = unsent
  const code = error instanceof StoreError ? error.code : 'remote_unreachable'
  const hint = 'This machine has them: `gitlocket sync` sends them'
  return new CommandError(code, unsentText(unsent), hint, { cause: error })
}

/** Prints a failure once, as long as it lasts. */
class Reporter {
  readonly #last: Map<string, string> = new Map()
  #hasEnded = false

  report(remote: string, error: unknown): void {
    const text = error === undefined ? undefined : errorText(error, false, undefined)
    const isNew = text !== undefined && this.#last.get(remote) !== text
    if (isNew && !this.#hasEnded) print(error)
    if (text === undefined) this.#last.delete(remote)
    else this.#last.set(remote, text)
  }

  end(): void {
    this.#hasEnded = true
  }
}

/** No one asked for this sync, and no one else sees its report. */
async function printBegunAnew(context: Context, { remote, begunAnew }: SyncReport): Promise<void> {
  if (begunAnew === undefined) return
  // Imported here: a redaction below the beginning of a clone is rare.
  const { begunAnewText } = await import('../text/sync-text.ts')
  process.stderr.write(`${remote}: ${begunAnewText(context, plainInk, begunAnew)}`)
}

function print(error: unknown): void {
  process.stderr.write(errorText(error, false, undefined, stderrColumns()))
}

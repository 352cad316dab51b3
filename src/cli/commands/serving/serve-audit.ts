// `serve audit`: the audit events of all stores of a server, a line of JSON each, for a program
// that collects them. It may run next to the server, and continue after any line.

import { hasCode } from '../../../errors.ts'
import type { AuditEvent } from '../../../hosting/audit-events.ts'
import { exportAudit } from '../../../hosting/audit-export.ts'
import { DataDirectory } from '../../../hosting/data-directory.ts'
import { actorJson, timestamp } from '../../../operations/wire.ts'
import type { Answer, Command, Context, Input } from '../../call/command.ts'
import { openBackend } from '../../store/engine.ts'
import { placeOptions, printNotice, withServerPlace } from '../../store/server.ts'
import { writeTo } from '../../terminal/pager.ts'
import { wire } from '../../text/wire.ts'

export const commands: readonly Command[] = [
  {
    name: 'serve audit',
    summary: 'Print what happened in the stores of a server, a line of JSON for each change',
    options: {
      '--since <cursor>': 'Continue after the line with this cursor; if empty, from the start',
      '--follow': 'Wait for further changes, and print them',
      ...placeOptions,
    },
    notes: [
      'Also while the server runs. Each line has ids, times and the author of a change: no path, ' +
        'no text, no name. Every change is printed at least once: the `id` of a line shows a ' +
        'repetition. A cursor is valid on this machine, as long as the state directory is kept.',
      'A store that cannot be read is reported on standard error, and the others continue; the ' +
        'exit code is 11 then. With --follow, SIGTERM and Ctrl-C end it with 0.',
    ],
    run: serveAudit,
  },
]

/** As for a damaged history: the changes of some stores are missing. */
const INCOMPLETE = 11
/** For the reader to take the last lines, once a signal has ended the work. */
const STOP_MS = 1000

function serveAudit(context: Context, input: Input): Promise<Answer> {
  return withServerPlace(context, input, async (place) => {
    const { signal } = context.interrupts
    const follow = input.flag('follow')
    const backend =
      (await openBackend(context, input, place.identity)) ??
      new DataDirectory({ ...place, clock: context.clock })
    const work = (): Promise<readonly string[]> =>
      exportAudit(backend, {
        stateDirectory: place.stateDirectory,
        // Empty where a script has no line yet.
        since: input.text('since') || undefined,
        follow,
        signal,
        write: (event, cursor) => write(lineOf(event, cursor), signal),
        notice: (notice) => printNotice(context, notice),
      })
    const ending = 'Ended; --since continues after the last line'
    const failed = follow
      ? await context.interrupts.untilStopped(ending, () => untilCancelled(work))
      : await work()
    return { text: '', json: undefined, exitCode: failed.length > 0 ? INCOMPLETE : 0 }
  })
}

/** With --follow, a signal is the usual end. */
function untilCancelled(work: () => Promise<readonly string[]>): Promise<readonly string[]> {
  return work().catch((error: unknown) => {
    if (!hasCode(error, 'cancelled')) throw error
    // A line that no one reads would keep the process.
    setTimeout(() => process.exit(0), STOP_MS).unref()
    return []
  })
}

/** Resolves once the reader takes more, or by the signal: a reader may have stopped for good. */
async function write(line: string, signal: AbortSignal): Promise<void> {
  const stopped = new AbortController()
  const ended = new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true, signal: stopped.signal })
  })
  await Promise.race([writeTo(process.stdout, line), ended])
  stopped.abort()
}

/** Facts that an event does not have are left out. */
function lineOf({ id, time, actor, isRecovery, ...event }: AuditEvent, cursor: string): string {
  const fields = {
    type: 'audit_event',
    id,
    time: timestamp(time),
    ...event,
    ...(actor && { actor: actorJson(actor) }),
    ...(isRecovery === true && { recovery: true }),
    cursor,
  }
  const known = Object.entries(fields).filter(([, value]) => value !== undefined)
  return `${JSON.stringify(wire(Object.fromEntries(known)))}\n`
}

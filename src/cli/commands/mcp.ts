// `mcp`: the store for one client of the Model Context Protocol, on standard input and output,
// until either ends. Standard output carries the protocol only.

import { systemRandom } from '../../crypto/random.ts'
import type { McpOptions } from '../../mcp/mcp.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import { type Answer, type Command, type Context, type Input, usageError } from '../call/command.ts'
import { readAgentEnvironment } from '../call/environment.ts'
import { repeat } from '../machine/repeat.ts'
import { packageVersion } from '../own-package.ts'
import { findAgentSession } from '../setup/agent-session.ts'
import { withStore } from '../store/open-store.ts'
import { syncQuietly } from '../store/quiet-sync.ts'
import { errorText } from '../terminal/output.ts'
import { storePath } from '../text/store-path.ts'
import { syncIntervalOf } from '../text/times.ts'

export const commands: readonly Command[] = [
  {
    name: 'mcp',
    summary: 'Give the store to a client of the Model Context Protocol, such as Claude Code',
    options: {
      '--read-only': 'Refuse all that would write',
      '--path <path>': 'Only this directory: nothing outside it is seen',
      '--session <id>': 'The session to record; else one that is named after the client',
      '--sync <interval>': 'Sync with all remotes, such as 5m',
    },
    notes: [
      'The client starts it, and speaks with it on standard input and output; docs/MCP.md ' +
        'shows how to set up a client. Each run is a session, as `gitlocket log` shows: ' +
        '`gitlocket rollback --session` takes back what it wrote. Problems go to standard error.',
      'With --sync it also syncs once at the start and once at the end. A remote that fails does ' +
        'not keep it from working.',
    ],
    run: mcp,
  },
]

/** For the sync at the end: a client that has ended waits a few seconds, then ends us. */
const LAST_SYNC_MS = 5000

async function mcp(context: Context, input: Input): Promise<Answer> {
  if (input.flag('json')) throw usageError('--json has no meaning here: all output is JSON', 'mcp')
  const everyMs = syncIntervalOf(input, 'mcp')
  const options = optionsOf(context, input)
  const ending = 'Ended; all answered changes are safe'
  await withStore(context, (store) =>
    context.interrupts.untilStopped(ending, async () => {
      const serve = (): Promise<void> => serveUntilEnd(context, store, options)
      await (everyMs === undefined ? serve() : syncing(context, store, everyMs, serve))
    }),
  )
  return { text: '', json: undefined }
}

function optionsOf({ clock, environment }: Context, input: Input): McpOptions {
  const agents = readAgentEnvironment()
  const path = input.text('path')
  const session = input.text('session')
  return {
    clock,
    version: packageVersion(),
    access: input.flag('read-only') ? 'read_only' : 'read_write',
    path: path === undefined ? '/' : storePath(path),
    // An author is checked at the start: no call must be refused because of --session.
    ...(session === undefined
      ? { session: () => findAgentSession(environment, agents) }
      : { author: { actor: { type: 'session', id: session } } as const }),
    onError: (error) => void process.stderr.write(errorText(error, false, undefined)),
  }
}

async function serveUntilEnd(
  { interrupts: { signal } }: Context,
  store: MemoryStore,
  options: McpOptions,
): Promise<void> {
  const { serveMcp } = await import('../../mcp/mcp.ts')
  const connection = await serveMcp(store, process.stdin, process.stdout, options)
  const stop = (): void => void connection.close()
  signal.addEventListener('abort', stop)
  if (signal.aborted) stop()
  await connection.closed
  signal.removeEventListener('abort', stop)
}

/** Syncs with all remotes again and again while `work` runs, and once more at its end. */
async function syncing(
  context: Context,
  store: MemoryStore,
  everyMs: number,
  work: () => Promise<void>,
): Promise<void> {
  const { signal } = context.interrupts
  const ended = new AbortController()
  const told = new Map<string, string>()
  const turn = (until: AbortSignal): Promise<boolean> => syncAll(context, store, told, until)
  const running = AbortSignal.any([signal, ended.signal])
  const pace = { seconds: everyMs / 1000, random, signal: running }
  const rounds = repeat(() => turn(running), pace)
  try {
    await work()
  } finally {
    ended.abort()
    await rounds
    const last = AbortSignal.timeout(LAST_SYNC_MS)
    await turn(signal.aborted ? last : AbortSignal.any([signal, last]))
  }
}

/** Whether all succeeded. Tells a failure once, as long as it lasts. */
async function syncAll(
  context: Context,
  store: MemoryStore,
  told: Map<string, string>,
  signal: AbortSignal,
): Promise<boolean> {
  const outcomes = await syncQuietly(context, store, 'gitlocket-mcp', signal)
  for (const [remote, error] of outcomes) {
    if (error === undefined) {
      told.delete(remote)
      continue
    }
    const text = errorText(error, false, undefined)
    if (told.get(remote) !== text) process.stderr.write(text)
    told.set(remote, text)
  }
  return !signal.aborted && [...outcomes.values()].every((error) => error === undefined)
}

function random(): number {
  return (systemRandom(1)[0] ?? 0) / 255
}

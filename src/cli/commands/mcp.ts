// `mcp`: the store for one client of the Model Context Protocol, on standard input and output,
// until either ends. Standard output carries the protocol only.

import type { McpOptions } from '../../mcp/mcp.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import { type Answer, type Command, type Context, type Input, usageError } from '../call/command.ts'
import { readAgentEnvironment } from '../call/environment.ts'
import { packageVersion } from '../own-package.ts'
import { findAgentSession } from '../setup/agent-session.ts'
import { withStore } from '../store/open-store.ts'
import { errorText } from '../terminal/output.ts'
import { storePath } from '../text/store-path.ts'
import { grantedIntervalOf, syncIntervalOf } from '../text/times.ts'

export const commands: readonly Command[] = [
  {
    name: 'mcp',
    summary: 'Give the store to a client of the Model Context Protocol, such as Claude Code',
    options: {
      '--read-only': 'Refuse all that would write',
      '--path <path>': 'Only this directory: nothing outside it is seen',
      '--session <id>': 'The session to record; else one that is named after the client',
      '--sync <interval>': 'Sync with all remotes: after changes, and such as every 5m',
    },
    notes: [
      'The client starts it, and speaks with it on standard input and output; docs/MCP.md ' +
        'shows how to set up a client. Each run is a session, as `gitlocket log` shows: ' +
        '`gitlocket rollback --session` takes back what it wrote. Problems go to standard error.',
      'With --sync a change is sent within five seconds, and the rest at the end, for which ' +
        'it takes at most ten. Changes of others are fetched at the start and at each interval. ' +
        'A remote that fails does not keep it from working; standard error reports the ' +
        'number of commits that were not sent. With a grant it is on, every minute.',
    ],
    run: mcp,
  },
]

async function mcp(context: Context, input: Input): Promise<Answer> {
  if (input.flag('json')) throw usageError('--json has no meaning here: all output is JSON', 'mcp')
  const everyMs = syncIntervalOf(input, 'mcp') ?? grantedIntervalOf(context)
  const options = optionsOf(context, input)
  const ending = 'Ended; all answered changes are safe'
  const serve = (store: MemoryStore): Promise<void> =>
    context.interrupts.untilStopped(ending, () => serveUntilEnd(context, store, options))
  const sends = everyMs === undefined ? undefined : { actor: 'gitlocket-mcp', everyMs }
  await withStore(context, serve, { sends })
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

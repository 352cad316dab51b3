// `serve`: the server of many stores, until it is stopped. Prints the address once, on standard
// output, and a line of JSON for each request, on standard error.

import { setTimeout as pause } from 'node:timers/promises'
import type { WebConsole } from '../../../console/console.ts'
import type { Host } from '../../../hosting/host.ts'
import type { Identity } from '../../../keys/identity.ts'
import { timestamp } from '../../../operations/wire.ts'
import type { Server, ServerOptions } from '../../../server/server.ts'
import { visible } from '../../../text/visible.ts'
import {
  type Answer,
  type Command,
  type Context,
  type Input,
  usageError,
} from '../../call/command.ts'
import { variablesWith } from '../../call/environment.ts'
import { authorOf, sizeOf } from '../../call/options.ts'
import { readPlainFile } from '../../machine/files.ts'
import { remoteAccess } from '../../machine/remote-access.ts'
import { textsOutside } from '../../machine/scratch-directory.ts'
import { packageVersion, pageDirectory } from '../../own-package.ts'
import { reportSigner } from '../../report/signed.ts'
import { shellLine } from '../../setup/clients.ts'
import { openBackend } from '../../store/engine.ts'
import { markSeen, readSeen } from '../../store/seen-conflicts.ts'
import {
  directoriesOf,
  newStoreOptions,
  placeOptions,
  printLine,
  printNotice,
  recoveryOf,
  storeLimitsOf,
  type ServerPlace,
  withServerPlace,
} from '../../store/server.ts'
import { parseDuration, syncIntervalOf } from '../../text/times.ts'
import { noteRunning } from './serve-status.ts'

export const commands: readonly Command[] = [
  {
    name: 'serve',
    summary: 'Serve many stores by the Memory Stores API',
    options: {
      ...placeOptions,
      '--host <address>': 'Where to listen; else 127.0.0.1',
      '--port <number>': 'The port, 0 for a free one; else 8787',
      '--tls-cert <file>': 'The certificate, in PEM',
      '--tls-key <file>': 'Its key, in PEM',
      '--behind-proxy': 'Listen anywhere without TLS: a proxy in front has it',
      '--allow-host <name>': 'A name that requests may call the server by; may be repeated',
      '--allow-origin <origin>': 'A web origin that may call it; may be repeated',
      '--web-git': 'Let keys of `api-key create --web-git` fetch a store by git',
      '--web-origin <origin>': 'A web origin whose pages may fetch, too; may be repeated',
      '--metrics-port <number>': 'Show figures for Prometheus at /metrics of this port',
      '--metrics-host <address>': 'Where that listens; else 127.0.0.1',
      '--drain <duration>': 'Keep answering this long, such as 5s, once /readyz refuses',
      '--max-stale <duration>':
        'With an engine: how old the answers of reads may be, such as 250ms; else 0ms',
      '--sync <interval>': 'Sync stores that have a remote, such as 5m',
      '--max-open <number>': 'How many stores are open at once; else 200',
      '--max-memory <bytes>': 'What the process may use; else 512M',
      ...newStoreOptions,
      '--accept-rolled-back': 'Accept an older directory that was restored on purpose',
      '--console': 'Show all of its stores in a browser of this machine, too',
    },
    notes: [
      'Prints one line with the address when it is ready, then one line of JSON for each request ' +
        'on standard error: no path, no text, no token. `api-key create` makes the key that a ' +
        'client needs, also while it runs. SIGTERM and Ctrl-C end requests, close the stores and ' +
        'exit with 0.',
      'This machine is an owner of each store. What opens them if it is lost is decided with ' +
        'their creation: the operator secret that GITLOCKET_OPERATOR_SECRET_FILE names, else the ' +
        'one next to the identity file, which is made if missing; or the owners of ' +
        '--owner-card. Keep a copy of an operator secret elsewhere.',
      'The identity comes from its file, which is made if missing, or from ' +
        'GITLOCKET_IDENTITY; with neither, a terminal is asked if there are stores already. ' +
        'Elsewhere than on a loopback address it needs TLS, or --behind-proxy.',
    ],
    run: serve,
  },
]

const PORT = 8787
const OPEN = 200
const BYTES = 512 * 2 ** 20
/** What does not end in time is cut off: all that was acknowledged is durable. */
const STOP_MS = 14_000

function serve(context: Context, input: Input): Promise<Answer> {
  return withServerPlace(context, input, async (place) => {
    drainOf(input)
    checkAccepting(context, input)
    const recovery = await recoveryOf(context, input)
    const [{ openServer }, { mcpRoute }] = await loadServer()
    const routes = [mcpRoute({ version: packageVersion() })]
    const backend = await openBackend(context, input, place.identity)
    const where = backend === undefined ? place : { backend }
    const options = { ...where, ...recovery, ...optionsOf(context, input), routes }
    const { host, server } = await openServer(options)
    const ending = 'Ended; all answered changes are safe'
    await context.interrupts.untilStopped(ending, () =>
      run(context, input, { host, server, identity: place.identity }),
    )
    return { text: '', json: { type: 'serve', ended: true } }
  })
}

/** All servers of a database accept an older state together. */
function checkAccepting({ environment }: Context, input: Input): void {
  if (!input.flag('accept-rolled-back') || environment.engineAddress === undefined) return
  throw usageError('With an engine, run `gitlocket serve accept-restored` instead', 'serve')
}

/** Loaded when a server runs: help reads this file too. */
function loadServer() {
  return Promise.all([import('../../../server/serve-host.ts'), import('../../../mcp/mcp.ts')])
}

interface RunningServer {
  readonly host: Host
  readonly server: Server
  readonly identity: Identity
}

async function run(context: Context, input: Input, running: RunningServer): Promise<void> {
  const { server, host } = running
  const { signal } = context.interrupts
  const drainMs = drainOf(input)
  let shown: WebConsole | undefined
  let forget: (() => void) | undefined
  try {
    const { url, metricsUrl } = await server.listen()
    shown = input.flag('console') ? await consoleOf(context, input, running) : undefined
    const address = shown?.newAddress()
    forget = await noteRunning(context, directoriesOf(context, input), {
      operator: host.operator,
      url,
    })
    announce(context, input, { url, metricsUrl, address })
    await new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => resolve(), { once: true })
      if (signal.aborted) resolve()
    })
    server.drain()
    await pause(drainMs)
  } finally {
    forget?.()
    const late = setTimeout(() => process.exit(0), STOP_MS)
    await shown?.close()
    await server.close().finally(() => clearTimeout(late))
  }
}

interface Addresses {
  readonly url: string
  readonly metricsUrl: string | undefined
  readonly address: string | undefined
}

/** Tells a program one line, and a person at a terminal the next step too. */
function announce(context: Context, input: Input, { url, metricsUrl, address }: Addresses): void {
  const json = {
    type: 'serve',
    url,
    ...(address !== undefined && { console: address }),
    ...(metricsUrl !== undefined && { metrics: metricsUrl }),
  }
  const text = [
    `Serving on ${url}`,
    ...(address === undefined ? [] : [`Console: ${address}`]),
    ...(metricsUrl === undefined ? [] : [`Metrics: ${metricsUrl}`]),
  ]
  process.stdout.write(`${input.flag('json') ? JSON.stringify(json) : text.join('\n')}\n`)
  if (context.environment.terminal.output && !input.flag('json')) {
    const place = ['data', 'state'].flatMap((name) => {
      return input.texts(name).flatMap((value) => [`--${name}`, value])
    })
    const next = shellLine(['gitlocket', 'api-key', 'create', ...place])
    process.stdout.write(visible(`Next, in another terminal: ${next}\n`))
  }
}

/** On a listener of its own, for this machine alone; it ends when it is locked, the server not. */
async function consoleOf(
  context: Context,
  input: Input,
  { host, identity }: RunningServer,
): Promise<WebConsole> {
  const { clock } = context
  const author = authorOf(context, input)
  const { hostedSubjects } = await import('../../../operations/console/subject.ts')
  const { openConsole } = await import('../../../console/console.ts')
  const { readPageFiles } = await import('../../../console/page-files.ts')
  const subjects = hostedSubjects(host.operator, (store) => ({
    store,
    writer: (reason) => store.as(reason === undefined ? author : { ...author, reason }),
    access: 'read_write',
    seen: {
      read: () => readSeen(context, store),
      mark: (versionIds) => markSeen(context, store, versionIds),
    },
    remoteAccess: remoteAccess(context),
    textsOutside: textsOutside(context.environment, store),
    clock,
    sign: reportSigner(identity, clock),
  }))
  const shown = await openConsole({ subjects, page: readPageFiles(pageDirectory), clock })
  void endWhenLocked(shown)
  return shown
}

async function endWhenLocked(shown: WebConsole): Promise<void> {
  await shown.locked
  await shown.close()
  process.stderr.write('The console is locked; the server keeps running\n')
}

function optionsOf(
  context: Context,
  input: Input,
): Omit<ServerOptions, keyof ServerPlace | 'routes'> {
  const syncEveryMs = syncIntervalOf(input, 'serve')
  const tls = tlsOf(input)
  const maxBytes = sizeOf(input, 'max-memory') ?? BYTES
  return {
    host: input.text('host'),
    port: input.integer('port', 0, 65_535) ?? PORT,
    ...(tls && { tls }),
    limits: { heldBytesPerKey: maxBytes / 8 },
    behindProxy: input.flag('behind-proxy'),
    allowedHosts: input.texts('allow-host'),
    allowedOrigins: input.texts('allow-origin'),
    webGit: webGitOf(input),
    metrics: metricsOf(input),
    maxOpen: input.integer('max-open', 1, 100_000) ?? OPEN,
    maxBytes,
    storeLimits: storeLimitsOf(input),
    ...(syncEveryMs && { syncEveryMs }),
    acceptRolledBack: input.flag('accept-rolled-back'),
    clock: context.clock,
    log: (line) => printLine({ time: timestamp(context.clock()), ...line }),
    notice: (notice) => printNotice(context, notice),
  }
}

function tlsOf(input: Input): ServerOptions['tls'] {
  const [certificate, key] = [input.text('tls-cert'), input.text('tls-key')]
  if (certificate === undefined && key === undefined) return undefined
  if (certificate === undefined || key === undefined) {
    throw usageError('--tls-cert and --tls-key go together', 'serve')
  }
  return {
    cert: readPlainFile('the certificate', certificate),
    key: readPlainFile('the key of the certificate', key),
  }
}

function webGitOf(input: Input): ServerOptions['webGit'] {
  const origins = input.texts('web-origin')
  if (input.flag('web-git')) return { origins, environment: variablesWith({}) }
  if (origins.length === 0) return undefined
  throw usageError('--web-origin needs --web-git', 'serve')
}

function metricsOf(input: Input): ServerOptions['metrics'] {
  const port = input.integer('metrics-port', 0, 65_535)
  const host = input.text('metrics-host')
  if (port !== undefined) return { port, host }
  if (host === undefined) return undefined
  throw usageError('--metrics-host needs --metrics-port', 'serve')
}

const DRAIN_MS_MAX = 600_000

function drainOf(input: Input): number {
  const text = input.text('drain')
  const drainMs = text === undefined ? 0 : parseDuration('drain', text)
  if (drainMs <= DRAIN_MS_MAX) return drainMs
  throw usageError('--drain must be a duration such as 5s, at most 10m', 'serve')
}

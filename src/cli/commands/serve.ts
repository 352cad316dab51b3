// `serve`: the server of many stores, until it is stopped. Prints the address once, on standard
// output, and a line of JSON for each request, on standard error.

import { timestamp } from '../../api/wire.ts'
import { StoreError } from '../../errors.ts'
import { ensureOperatorSecret } from '../../home/operator-secret-file.ts'
import type { HostNotice } from '../../hosting/data-directory.ts'
import type { HostRecovery } from '../../hosting/hosted-stores.ts'
import {
  contentBytesDefault,
  contentBytesFormatMax,
  memoriesDefault,
  memoriesMax,
} from '../../limits.ts'
import { mcpRoute } from '../../mcp/mcp.ts'
import { createServer, type Server, type ServerOptions } from '../../server/server.ts'
import { usageError } from '../command-error.ts'
import type { Answer, Input } from '../command.ts'
import type { Context } from '../context.ts'
import { readTextFile } from '../files.ts'
import { packageVersion } from '../own-package.ts'
import { findOperatorSecret } from '../secrets.ts'
import { type ServerPlace, withServerPlace } from '../server-place.ts'
import { syncIntervalOf } from '../times.ts'

const PORT = 8787
const OPEN = 200
const BYTES = 512 * 2 ** 20
/** What does not end in time is cut off: all that was acknowledged is durable. */
const STOP_MS = 14_000

export function serve(context: Context, input: Input): Promise<Answer> {
  return withServerPlace(context, input, async (place) => {
    const recovery = await recoveryOf(context, input)
    const server = await createServer({ ...place, ...recovery, ...optionsOf(context, input) })
    const ending = 'Ended; what was answered is safe'
    await context.interrupts.untilStopped(ending, () => run(context, input, server))
    return { text: '', json: { type: 'serve', ended: true } }
  })
}

async function run({ interrupts }: Context, input: Input, server: Server): Promise<void> {
  const { signal } = interrupts
  try {
    const { url } = await server.listen()
    const line = input.flag('json') ? JSON.stringify({ type: 'serve', url }) : `Serving on ${url}`
    process.stdout.write(`${line}\n`)
    await new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => resolve(), { once: true })
      if (signal.aborted) resolve()
    })
  } finally {
    const late = setTimeout(() => process.exit(0), STOP_MS)
    await server.close().finally(() => clearTimeout(late))
  }
}

/** Who can open the stores if this machine is lost. */
async function recoveryOf(context: Context, input: Input): Promise<HostRecovery> {
  const cards = input.texts('owner-card')
  if (cards.length > 0) {
    return { owners: cards.map((file) => readTextFile('the device card', file)) }
  }
  const given = findOperatorSecret(context)
  if (given !== undefined) return { operatorSecret: given }
  const { path, operatorSecret, isNew } = await ensureOperatorSecret(context.environment)
  if (isNew) {
    const reason = 'it recovers every store of this server if this machine is lost'
    process.stderr.write(`Made an operator secret at ${path}: keep a copy elsewhere, ${reason}\n`)
  }
  return { operatorSecret }
}

function optionsOf(context: Context, input: Input): Omit<ServerOptions, keyof ServerPlace> {
  const syncEveryMs = syncIntervalOf(input, 'serve')
  const tls = tlsOf(input)
  const maxBytes = bytesOf(input, 'max-memory') ?? BYTES
  return {
    host: input.text('host'),
    port: input.integer('port', 0, 65_535) ?? PORT,
    ...(tls && { tls }),
    limits: { heldBytesPerKey: maxBytes / 8 },
    behindProxy: input.flag('behind-proxy'),
    allowedHosts: input.texts('allow-host'),
    allowedOrigins: input.texts('allow-origin'),
    maxOpen: input.integer('max-open', 1, 100_000) ?? OPEN,
    maxBytes,
    storeLimits: {
      contentBytes: input.integer('content-limit', 1, contentBytesFormatMax) ?? contentBytesDefault,
      memories: input.integer('memory-limit', 1, memoriesMax) ?? memoriesDefault,
    },
    ...(syncEveryMs !== undefined && { syncEveryMs }),
    acceptRolledBack: input.flag('accept-rolled-back'),
    clock: context.clock,
    routes: [mcpRoute({ version: packageVersion(), guard: !input.flag('no-mcp-guard') })],
    log: (line) => printLine({ time: timestamp(context.clock()), ...line }),
    notice: (notice) => printLine(noticeOf(context, notice)),
  }
}

function tlsOf(input: Input): ServerOptions['tls'] {
  const [certificate, key] = [input.text('tls-cert'), input.text('tls-key')]
  if (certificate === undefined && key === undefined) return undefined
  if (certificate === undefined || key === undefined) {
    throw usageError('--tls-cert and --tls-key go together', 'serve')
  }
  return {
    cert: readTextFile('the certificate', certificate),
    key: readTextFile('the key of the certificate', key),
  }
}

const units: Readonly<Record<string, number>> = { '': 1, K: 2 ** 10, M: 2 ** 20, G: 2 ** 30 }
const BYTES_MIN = 64 * 2 ** 20

/** `512M`, `2G`. */
function bytesOf(input: Input, option: string): number | undefined {
  const text = input.text(option)
  if (text === undefined) return undefined
  const match = /^(\d{1,12})([KMG]?)$/.exec(text)
  const bytes = match === null ? 0 : Number(match[1]) * (units[match[2] ?? ''] ?? 0)
  if (bytes >= BYTES_MIN) return bytes
  throw usageError(`--${option} must be a size such as 512M, and at least 64M`, 'serve')
}

/** What goes wrong beside the requests. The message of an error is of no memory and no name. */
function noticeOf({ clock }: Context, { about, error }: HostNotice): object {
  const known = error instanceof StoreError
  const [code, message] = known ? [error.code, error.message] : ['unexpected', 'Unexpected']
  return { time: timestamp(clock()), about, code, message }
}

function printLine(line: object): void {
  process.stderr.write(`${JSON.stringify(line)}\n`)
}

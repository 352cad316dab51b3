// One request, from its headers to its answer. The order matters: no body is read before the key
// is known, and nothing at all before the doorway. No answer is kept, framed, guessed or shared;
// the page runs only its own files.

import { toBase64, utf8Text } from '../bytes.ts'
import type { Clock } from '../clock.ts'
import { systemRandom } from '../crypto/random.ts'
import { StoreError } from '../errors.ts'
import { contentBytesFormatMax, KIBIBYTE } from '../limits.ts'
import type { AnswerLine, AskError } from '../operations/console/contract.ts'
import type { ConsoleSubject, ConsoleSubjects } from '../operations/console/subject.ts'
import { surfaceOf } from '../operations/error-surface.ts'
import { readBytes } from '../server/request.ts'
import { checkDoorway } from './doorway.ts'
import type { StoreEvents } from './events.ts'
import type { ConsoleKeys } from './keys.ts'
import type { PageFiles } from './page-files.ts'

export interface ConsoleExchange {
  /** `127.0.0.1:4771` and the like. */
  readonly hosts: ReadonlySet<string>
  readonly keys: ConsoleKeys
  readonly page: PageFiles
  readonly subjects: ConsoleSubjects
  readonly events: StoreEvents
  readonly clock: Clock
  /** The user has done something. */
  readonly used: () => void
  readonly lock: () => void
}

const JSON_TYPE = 'application/json'
const LINES_TYPE = 'application/x-ndjson'
/** Each letter of a memory may be escaped. */
const BODY_BYTES_MAX = 6 * contentBytesFormatMax + 64 * KIBIBYTE
const TOKEN_BODY_BYTES_MAX = 256
const NONCE_BYTES = 18

/** `signal` is aborted when the client has left. */
export async function exchange(
  context: ConsoleExchange,
  request: Request,
  signal: AbortSignal,
): Promise<Response> {
  try {
    checkDoorway(request, context.hosts)
    if (request.method === 'POST') return await answerPost(context, request, signal)
    if (request.method === 'GET' || request.method === 'HEAD') return pageAt(context.page, request)
    return refusal(405, 'invalid_input', 'The console takes GET and POST')
  } catch (error) {
    if (!(error instanceof StoreError)) return refusal(500, 'unexpected', 'The console failed')
    return refusal(surfaceOf(error).status, error.code, error.message)
  }
}

async function answerPost(
  context: ConsoleExchange,
  request: Request,
  signal: AbortSignal,
): Promise<Response> {
  const { keys, subjects, clock, used, lock } = context
  const { pathname } = new URL(request.url)
  if (pathname === '/session') {
    const key = keys.trade(await tokenOf(request))
    if (key === undefined) throw locked('The token is unknown, late or used')
    used()
    return json({ key })
  }
  if (!keys.isKnown(request.headers.get('authorization'))) throw locked('A key is needed')
  const question = /^\/ask\/([a-zA-Z.]{1,64})$/.exec(pathname)?.[1]
  if (question !== undefined) {
    const { subject } = await subjectOf(context, request)
    const input = await inputOf(request, BODY_BYTES_MAX)
    return lines(answerLines(subject, { name: question, input, signal, clock }))
  }
  if (pathname === '/events') {
    const { subject, storeId } = await subjectOf(context, request)
    return lines(context.events.of(subject, storeId).stream())
  }
  if (pathname === '/stores') return json({ stores: await subjects.stores() })
  if (pathname === '/token') {
    used()
    return json({ token: keys.newToken() })
  }
  if (pathname === '/used') used()
  else if (pathname === '/lock') lock()
  else throw new StoreError('not_found', 'There is no such route')
  return json({})
}

/** The store that the request names; of a console of one store it names none. */
async function subjectOf({ subjects }: ConsoleExchange, { headers }: Request) {
  const storeId = headers.get('gitlocket-store') ?? undefined
  const subject = await subjects.find(storeId)
  if (subject === undefined) throw new StoreError('not_found', 'There is no such memory store')
  return { subject, storeId }
}

/** A file, or the page at any of its addresses. */
function pageAt({ page, files }: PageFiles, request: Request): Response {
  const { pathname } = new URL(request.url)
  const file = files.get(pathname)
  if (file !== undefined) return new Response(file.body, { headers: headersOf(file.type) })
  if (!/^\/(?:[a-z-]+(?:\/\w+){0,2})?$/.test(pathname)) {
    return refusal(404, 'not_found', 'There is no such page')
  }
  const nonce = toBase64(systemRandom(NONCE_BYTES))
  const headers = headersOf('text/html; charset=utf-8', nonce)
  return new Response(page.replaceAll('{{nonce}}', nonce), { headers })
}

/** An empty text, which is no token, for anything else. */
async function tokenOf(request: Request): Promise<string> {
  const input = await inputOf(request, TOKEN_BODY_BYTES_MAX)
  const isObject = typeof input === 'object' && input !== null && 'token' in input
  return isObject && typeof input.token === 'string' ? input.token : ''
}

async function inputOf(request: Request, bytesMax: number): Promise<unknown> {
  if (request.headers.get('content-type') !== JSON_TYPE) {
    throw new StoreError('invalid_input', 'The content type of a body must be application/json')
  }
  const bytes = await readBytes(request, bytesMax)
  try {
    return JSON.parse(utf8Text(bytes))
  } catch {
    // The error of the parser quotes the text.
    throw new StoreError('invalid_input', 'The body must be JSON in UTF-8')
  }
}

function locked(message: string): StoreError {
  return new StoreError('unauthenticated', message)
}

function json(body: object): Response {
  return new Response(JSON.stringify(body), { headers: headersOf(JSON_TYPE) })
}

function lines(body: ReadableStream<Uint8Array>): Response {
  return new Response(body, { headers: headersOf(LINES_TYPE) })
}

/** The body may be unread: the connection ends with the answer. */
function refusal(status: number, code: string, message: string): Response {
  const headers = { ...headersOf(JSON_TYPE), connection: 'close' }
  return new Response(JSON.stringify({ error: { code, message } }), { status, headers })
}

interface Asking {
  readonly name: string
  readonly input: unknown
  /** Aborted if the page no longer waits, or the console ends. */
  readonly signal: AbortSignal
  readonly clock: Clock
}

/** Progress is told no more often. */
const PROGRESS_MS = 100

/** The lines, as bytes: progress, then the result or the failure. Never rejects. */
function answerLines(subject: ConsoleSubject, asking: Asking): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    start: async (stream) => {
      const tell = (line: AnswerLine): void => {
        if (!asking.signal.aborted) stream.enqueue(Buffer.from(`${JSON.stringify(line)}\n`))
      }
      tell(await lastLine(subject, asking, tell))
      // The reader may be gone.
      if (!asking.signal.aborted) stream.close()
    },
  })
}

async function lastLine(
  subject: ConsoleSubject,
  { name, input, signal, clock }: Asking,
  tell: (line: AnswerLine) => void,
): Promise<AnswerLine> {
  let toldAt = 0
  const progress = (done: number, total: number): void => {
    const now = clock()
    if (Math.abs(now - toldAt) < PROGRESS_MS) return
    toldAt = now
    tell({ progress: { done, total } })
  }
  try {
    return { result: await subject.ask(name, input, { signal, progress }) }
  } catch (error) {
    return { error: describe(error) }
  }
}

/** A foreign error is not described: its message may hold anything. */
function describe(error: unknown): AskError {
  if (!(error instanceof StoreError)) {
    return { code: 'unexpected', message: 'The console failed', advice: surfaceOf(error).advice }
  }
  const { code, message, details } = error
  const { memoryId, path, sha256 } = details
  const { advice } = surfaceOf(error)
  const falseAlarm =
    sha256 === undefined
      ? ''
      : `. If this is a false alarm, an owner can let this text through in Settings: ${sha256}`
  return { code, message, advice: advice + falseAlarm, memoryId, path }
}

/** Both kinds of `HeadersInit` and of Node take it. */
type AnswerHeaders = Readonly<Record<string, string>>

const ALWAYS: AnswerHeaders = {
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

/** With a nonce, for the styles that the editor makes. */
function headersOf(type: string, nonce?: string): AnswerHeaders {
  return { ...ALWAYS, 'content-security-policy': policyOf(nonce), 'content-type': type }
}

function policyOf(nonce: string | undefined): string {
  const styles = nonce === undefined ? "'self'" : `'self' 'nonce-${nonce}'`
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src ${styles}`,
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    'trusted-types dompurify',
  ].join('; ')
}

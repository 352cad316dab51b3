// One request, from its headers to its answer. The order matters: nothing of a body is looked at
// before the key, and nothing at all before the doorway.

import type { ConsoleSubjects } from '../api/console/subject.ts'
import { surfaceOf } from '../api/error-surface.ts'
import { toBase64, utf8Text } from '../bytes.ts'
import type { Clock } from '../clock.ts'
import { systemRandom } from '../crypto/random.ts'
import { StoreError } from '../errors.ts'
import { contentBytesFormatMax, KIBIBYTE } from '../limits.ts'
import { readBytes } from '../server/request.ts'
import { answerLines } from './answers.ts'
import { checkDoorway } from './doorway.ts'
import type { StoreEvents } from './events.ts'
import { headersOf } from './headers.ts'
import type { ConsoleKeys } from './keys.ts'
import type { PageFiles } from './page-files.ts'

export interface ExchangeContext {
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
  context: ExchangeContext,
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
  context: ExchangeContext,
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
    const { subject } = subjectOf(context, request)
    const input = await inputOf(request, BODY_BYTES_MAX)
    return lines(answerLines(subject, { name: question, input, signal, clock }))
  }
  if (pathname === '/events') {
    const { subject, storeId } = subjectOf(context, request)
    return lines(context.events.of(subject, storeId).stream())
  }
  if (pathname === '/stores') return json({ stores: subjects.stores() })
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
function subjectOf({ subjects }: ExchangeContext, { headers }: Request) {
  const storeId = headers.get('gitlocket-store') ?? undefined
  const subject = subjects.find(storeId)
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

// Reads what a request asks for: the parameters of its query, and its body up to a size. What they
// mean is for the operations.

import { utf8Text } from '../bytes.ts'
import { StoreError } from '../errors.ts'

type Fields = Readonly<Record<string, unknown>>

/** The parameters with these names. Throws `invalid_input`. */
export function readQuery(url: string, names: readonly string[]): Fields {
  const start = url.indexOf('?')
  if (start === -1) return {}
  const found = new Map<string, string>()
  for (const pair of url.slice(start + 1).split('&')) {
    if (pair === '') continue
    const [name = '', ...value] = pair.split('=')
    const key = decode(name)
    if (found.has(key)) throw invalid('A parameter of the query is given twice')
    found.set(key, decode(value.join('=')))
  }
  const fields: Record<string, unknown> = {}
  for (const name of names) {
    const value = found.get(name)
    if (value !== undefined) fields[name] = valueOf(name, value)
  }
  return fields
}

/** Operations expect JSON numbers and booleans here; any other text is passed on as it is. */
function valueOf(name: string, text: string): unknown {
  const isNumber = name === 'limit' || name === 'depth'
  if (isNumber && /^(?:0|[1-9]\d{0,8})$/.test(text)) return Number(text)
  if (name === 'include_archived') return text === 'true' || (text === 'false' ? false : text)
  return text
}

function decode(text: string): string {
  const decoded = decodeURIComponentOrUndefined(text.replaceAll('+', ' '))
  if (decoded !== undefined) return decoded
  throw invalid('The query must be percent-encoded UTF-8')
}

function decodeURIComponentOrUndefined(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

export interface BodyRules {
  readonly fields: readonly string[]
  readonly optional?: boolean
}

/** How much of a body will be read at most. */
export function sentBytes(headers: Headers, bytesMax: number): number {
  return Math.min(Number(headers.get('content-length') ?? bytesMax), bytesMax)
}

/** The fields with these names. Throws `invalid_input` or `request_too_large`. */
export async function readBody(
  request: Request,
  { fields, optional = false }: BodyRules,
  bytesMax: number,
): Promise<Fields> {
  const bytes = await readBytes(request, bytesMax)
  if (bytes.length === 0 && optional) return {}
  if (bytes.length === 0) throw invalid('The request needs a body: a JSON object')
  checkContentType(request.headers.get('content-type') ?? '')
  const body = parse(bytes)
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw invalid('The body must be a JSON object')
  }
  // By name, so that no key of the body becomes anything else.
  const own = fields.filter((name) => Object.hasOwn(body, name))
  return Object.fromEntries(own.map((name) => [name, Reflect.get(body, name)]))
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(utf8Text(bytes))
  } catch {
    // The error of the parser quotes the text.
    throw invalid('The body must be JSON in UTF-8')
  }
}

function checkContentType(contentType: string): void {
  if (/^\s*application\/json\s*(?:;\s*charset\s*=\s*"?utf-?8"?\s*)?;?\s*$/i.test(contentType))
    return
  throw invalid('The content type of a body must be application/json, in UTF-8')
}

/** Throws `invalid_input` or `request_too_large`. */
export async function readBytes(
  request: Request,
  bytesMax: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const length = request.headers.get('content-length')
  if (length !== null && Number(length) > bytesMax) throw tooLarge(bytesMax)
  if (length === '0') return new Uint8Array()
  try {
    if (length === null) return await readStream(request.body, bytesMax)
    const bytes = new Uint8Array(await request.arrayBuffer())
    if (bytes.length <= bytesMax) return bytes
  } catch (error) {
    throw error instanceof StoreError ? error : invalid('The body was cut off')
  }
  throw tooLarge(bytesMax)
}

/** Stops reading at the first byte that is too many. */
async function readStream(
  stream: ReadableStream<Uint8Array> | null,
  bytesMax: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = []
  let length = 0
  const reader = stream?.getReader()
  for (;;) {
    const chunk = await reader?.read()
    if (chunk?.value === undefined) return Buffer.concat(chunks)
    length += chunk.value.length
    if (length > bytesMax) throw tooLarge(bytesMax)
    chunks.push(chunk.value)
  }
}

function tooLarge(limit: number): StoreError {
  return new StoreError('request_too_large', `The body of a request has at most ${limit} bytes`, {
    details: { limit },
  })
}

function invalid(message: string): StoreError {
  return new StoreError('invalid_input', message)
}

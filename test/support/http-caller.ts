// A client of the server in tests that knows no SDK: plain fetch, and bytes on a socket. Of every
// answer it checks what holds for all of them (Memory Stores API §1.1, §1.7, §2.1): the status,
// JSON, a request id that no other answer had, and the form of errors.

import { connect } from 'node:net'
import { expect } from 'vitest'

/** What JSON.parse gives: tests look into it freely, and name what they expect. */
export type Json = ReturnType<typeof JSON.parse>

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: Json
  /** The body as it came. */
  readonly text: string
}

export interface RequestParts {
  /** An object is sent as JSON; a string or bytes as they are. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export const betas = {
  memory: 'agent-memory-2026-07-22',
  agents: 'managed-agents-2026-04-01',
} as const

/** The types of errors by status; a 409 has three. */
const errorTypes: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  507: 'api_error',
}

const requestIds = new Set<string>()

export class HttpCaller {
  readonly url: string
  readonly #headers: Readonly<Record<string, string>>

  /** `url` is that of the server; `token` a key or the token of a session. */
  constructor(url: string, token: string | undefined) {
    this.url = url
    this.#headers = {
      'anthropic-version': '2023-06-01',
      'anthropic-beta': betas.memory,
      ...(token === undefined ? {} : { 'x-api-key': token }),
    }
  }

  get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return this.request('GET', path, { headers })
  }

  post(path: string, body?: unknown): Promise<Answer> {
    return this.request('POST', path, { body })
  }

  delete(path: string): Promise<Answer> {
    return this.request('DELETE', path)
  }

  async request(method: string, path: string, parts: RequestParts = {}): Promise<Answer> {
    const answer = await fetch(`${this.url}${path}`, this.#init(method, parts))
    const text = await answer.text()
    return checked({ status: answer.status, headers: answer.headers, text })
  }

  #init(method: string, { body, headers }: RequestParts): RequestInit {
    const all: Record<string, string> = { ...this.#headers }
    if (body !== undefined) all['content-type'] = 'application/json'
    for (const [name, value] of Object.entries(headers ?? {})) all[name] = value
    return {
      method,
      headers: Object.fromEntries(Object.entries(all).filter(([, value]) => value !== '')),
      ...(body === undefined ? {} : { body: encodedBody(body) }),
    }
  }
}

function encodedBody(body: unknown): string | Uint8Array<ArrayBuffer> {
  if (body instanceof Uint8Array) return new Uint8Array(body)
  return typeof body === 'string' ? body : JSON.stringify(body)
}

function checked(answer: Omit<Answer, 'body'>): Answer {
  const { status, headers, text } = answer
  // A full disk is no fault of the server.
  const isFault = status >= 500 && status !== 507
  expect({ status, text: isFault ? text : '' }).toEqual({ status, text: '' })
  expect(headers.get('content-type')).toMatch(/^application\/json\b/)
  const id = headers.get('request-id') ?? ''
  expect(id).toMatch(/^req_[\w-]+$/)
  expect(requestIds).not.toContain(id)
  requestIds.add(id)
  const body: Json = JSON.parse(text)
  if (status !== 200) expectEnvelope({ ...answer, body })
  return { ...answer, body }
}

function expectEnvelope({ status, headers, body }: Answer): void {
  const conflicts = /^(?:memory_(?:path_conflict|precondition_failed)|conflict)_error$/
  const type = status === 409 ? expect.stringMatching(conflicts) : errorTypes[status]
  expect(body).toEqual({
    type: 'error',
    error: expect.objectContaining({
      type: type ?? 'invalid_request_error',
      message: expect.any(String),
    }),
    request_id: headers.get('request-id'),
  })
}

/** The body of a success. */
export function expectDone(answer: Answer): Json {
  expect({ status: answer.status, text: answer.text }).toEqual({
    status: 200,
    text: answer.text,
  })
  return answer.body
}

/** The error of a refusal. Its form was checked when the answer came. */
export function expectRefused(answer: Answer, ...statuses: readonly number[]): Json {
  const said = `${answer.status} ${answer.text.slice(0, 300)}`
  expect(statuses, said).toContain(answer.status)
  return answer.body.error
}

export function expectPathConflict(answer: Answer, memoryId: string, path: string): void {
  expect(expectRefused(answer, 409)).toEqual({
    type: 'memory_path_conflict_error',
    message: expect.any(String),
    conflicting_memory_id: memoryId,
    conflicting_path: path,
  })
}

export function expectPreconditionFailed(answer: Answer): void {
  expect(expectRefused(answer, 409)).toEqual({
    type: 'memory_precondition_failed_error',
    message: expect.any(String),
  })
}

/** All items of a list, page by page. A list that does not end is a failure. */
export async function allPages(caller: HttpCaller, path: string): Promise<Json[]> {
  return (await pagesOf(caller, path)).flat()
}

export async function pagesOf(caller: HttpCaller, path: string): Promise<Json[][]> {
  const pages: Json[][] = []
  for (let page: string | null = ''; page !== null;) {
    const more: string = page === '' ? '' : `&page=${encodeURIComponent(page)}`
    const body = expectDone(await caller.get(`${path}${path.includes('?') ? '' : '?'}${more}`))
    expect(Object.keys(body).toSorted()).toEqual(['data', 'next_page'])
    pages.push(body.data)
    expect(pages.length).toBeLessThan(1000)
    page = body.next_page
  }
  return pages
}

const FIRST_BYTE_MS = 10_000

/**
 * The answer of a server to bytes, until it closes or is silent for a while after it began to
 * answer. A busy machine may take long to begin: only a server that never answers is given up after
 * that.
 */
export function exchangeBytes(
  url: string,
  pieces: readonly (string | Uint8Array)[],
  silence = 300,
): Promise<string> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve) => {
    const said: Buffer[] = []
    const socket = connect(Number(port), hostname)
    const end = (): void => {
      socket.destroy()
      resolve(Buffer.concat(said).toString('latin1'))
    }
    socket.setTimeout(FIRST_BYTE_MS, end)
    socket.once('data', () => socket.setTimeout(silence, end))
    socket.on('data', (bytes) => said.push(bytes))
    socket.on('error', end)
    socket.on('close', end)
    for (const piece of pieces) socket.write(piece)
  })
}

/** The statuses of the answers in what a server said. */
export function statusesIn(said: string): number[] {
  return [...said.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => Number(match[1]))
}

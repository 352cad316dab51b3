// A client of the Memory Stores API, by plain HTTP, without repetitions. `fetch` would take more of
// the processor than the server does.

import { Agent, request } from 'node:http'
import { text } from 'node:stream/consumers'

/** A fault of the server: no client may ever see one. */
export class Fault extends Error {}

/** Undefined if the connection broke before there was an answer. */
export type Answer =
  | { readonly status: number; readonly body: Readonly<Record<string, unknown>> }
  | undefined

export class Client {
  readonly #url: string
  readonly #headers: Readonly<Record<string, string>>
  readonly #agent = new Agent({ keepAlive: true })

  constructor(url: string, key: string) {
    this.#url = url
    this.#headers = { 'x-api-key': key, 'anthropic-beta': 'agent-memory-2026-07-22' }
  }

  /** Throws a `Fault` for every status that `right` does not name. */
  async ask(
    method: 'GET' | 'POST',
    path: string,
    body?: object,
    right: readonly number[] = [200],
  ): Promise<Answer> {
    const sent = body === undefined ? undefined : JSON.stringify(body)
    const answer = await this.#send(method, path, sent).catch(() => undefined)
    if (answer === undefined) return undefined
    if (!right.includes(answer.status)) {
      throw new Fault(`${method} ${path} was answered ${answer.status}: ${answer.text}`)
    }
    const parsed: unknown = JSON.parse(answer.text)
    if (typeof parsed !== 'object' || parsed === null) throw new Fault('An answer is no object')
    return { status: answer.status, body: { ...parsed } }
  }

  #send(
    method: string,
    path: string,
    body: string | undefined,
  ): Promise<{ readonly status: number; readonly text: string }> {
    const length = { 'content-length': Buffer.byteLength(body ?? '') }
    const type = body === undefined ? {} : { 'content-type': 'application/json' }
    const headers = { ...this.#headers, ...type, ...length }
    const options = { method, headers, agent: this.#agent }
    return new Promise((resolve, reject) => {
      const asked = request(`${this.#url}/v1/memory_stores${path}`, options, (response) => {
        const { statusCode: status = 0 } = response
        text(response).then((found) => resolve({ status, text: found }), reject)
      })
      asked.on('error', reject)
      asked.end(body)
    })
  }
}

export function textOf(answer: Answer, field: string): string {
  const value = answer?.body[field]
  if (typeof value === 'string') return value
  throw new Fault(`An answer lacks ${field}`)
}

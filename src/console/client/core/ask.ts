// Asks the console one question of the contract (operations/console/contract.ts). The answer comes
// in lines of JSON: how far the work is, then the result.

import type {
  AnswerLine,
  AskError,
  InputOf,
  QuestionName,
  ResultOf,
} from '../../../operations/console/contract.ts'
import { authorization, endSession } from './session.ts'
import { trusted } from './trusted.ts'

export interface AskOptions {
  /** Ends the work on the other side, too. */
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((done: number, total: number) => void) | undefined
}

/** A refusal or failure, in words for the user. */
export class AskFailure extends Error {
  readonly code: string
  readonly advice: string | undefined
  readonly memoryId: string | undefined
  readonly path: string | undefined

  constructor({ code, message, advice, memoryId, path }: AskError) {
    super(message)
    this.code = code
    this.advice = advice
    this.memoryId = memoryId
    this.path = path
  }
}

export async function ask<Name extends QuestionName>(
  name: Name,
  input: InputOf<Name>,
  { signal, onProgress }: AskOptions = {},
): Promise<ResultOf<Name>> {
  const answer = await send(name, input, signal)
  let last: Exclude<AnswerLine, { readonly progress: unknown }> | undefined
  // To its end, so that the connection can be used again.
  for await (const line of linesOf(answer)) {
    const said = trusted<AnswerLine>(JSON.parse(line))
    if ('progress' in said) onProgress?.(said.progress.done, said.progress.total)
    else last = said
  }
  if (last !== undefined && 'error' in last) throw new AskFailure(last.error)
  if (last !== undefined) return trusted(last.result)
  throw new AskFailure({ code: 'unavailable', message: 'The console ended before it answered' })
}

async function send(
  name: string,
  input: unknown,
  signal: AbortSignal | undefined,
): Promise<Response> {
  const answer = await fetch(`/ask/${name}`, {
    method: 'POST',
    headers: { ...authorization(), 'content-type': 'application/json' },
    body: JSON.stringify(input),
    signal: signal ?? null,
  }).catch((error: unknown) => {
    if (signal?.aborted === true) throw error
    endSession({ why: 'ended' })
    throw new AskFailure({ code: 'unavailable', message: 'The console does not answer any more' })
  })
  if (answer.status === 401) {
    endSession({ why: 'unknown' })
    throw new AskFailure({ code: 'unavailable', message: 'The console was locked' })
  }
  return answer
}

/** The lines of a body, as they come. */
export async function* linesOf({ body }: Response): AsyncGenerator<string, void> {
  if (body === null) return
  const decoder = new TextDecoder()
  let rest = ''
  for await (const bytes of chunksOf(body)) {
    const parts = (rest + decoder.decode(bytes, { stream: true })).split('\n')
    rest = parts.pop() ?? ''
    yield* parts.filter((line) => line !== '')
  }
}

/** Not every browser can iterate over a stream. */
async function* chunksOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  const reader = body.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield value
    }
  } finally {
    reader.cancel().catch(() => undefined)
  }
}

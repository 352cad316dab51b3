// How one question is answered: lines of JSON, how far the work is, then its result or its failure.

import type { AnswerLine, AskError } from '../api/console/contract.ts'
import type { ConsoleSubject } from '../api/console/subject.ts'
import { surfaceOf } from '../api/error-surface.ts'
import type { Clock } from '../clock.ts'
import { StoreError } from '../errors.ts'

export interface Asking {
  readonly name: string
  readonly input: unknown
  /** Aborted if the page no longer waits, or the console ends. */
  readonly signal: AbortSignal
  readonly clock: Clock
}

/** Progress is told no more often. */
const PROGRESS_MS = 100

/** The lines, as bytes. Never fails: what does is a line. */
export function answerLines(subject: ConsoleSubject, asking: Asking): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    start: async (lines) => {
      const tell = (line: AnswerLine): void => {
        if (!asking.signal.aborted) lines.enqueue(Buffer.from(`${JSON.stringify(line)}\n`))
      }
      tell(await lastLine(subject, asking, tell))
      // The reader may be gone.
      if (!asking.signal.aborted) lines.close()
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

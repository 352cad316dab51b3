// A thread that matches one regular expression, within bounds of time and memory: an expression
// that backtracks may take years, and no engine reports that beforehand. The thread holds texts in
// RAM and ends with the search.

import { StoreError } from '../../errors.ts'
import { hasThreads } from '../../platform/threads.ts'
import { JobThread } from '../../worker-threads.ts'
import type { Spot } from './snippet.ts'

export interface RegexText {
  readonly path: string
  readonly content: string
}

export interface RegexMatch {
  /** The number of lines that match. */
  readonly lines: number
  /** The first of them. */
  readonly spot: Spot | undefined
  /** Whether the path matches. */
  readonly path: boolean
}

/** How long a search has matched, in all of its threads together. */
export interface Matching {
  ms: number
}

/** For all texts of one search together. */
const MATCHING_MS_MAX = 2000
/** A text has at most 16 MiB, and is there as it came and in lines. */
const resourceLimits = { maxYoungGenerationSizeMb: 16, maxOldGenerationSizeMb: 256 }

/**
 * The program of the thread: a string, since the bundle of a program has no file for a thread. It
 * answers with undefined if the engine gives up: a valid expression may be too large to compile.
 */
const program = `
const { parentPort, workerData } = require('node:worker_threads')
const pattern = new RegExp(workerData, 'iu')
function match({ path, content }) {
  let lines = 0
  let spot
  for (const [index, line] of content.split('\\n').entries()) {
    const found = pattern.exec(line)
    if (found === null) continue
    lines += 1
    spot ??= { line: index + 1, at: found.index }
  }
  return { lines, spot, path: pattern.test(path) }
}
parentPort.on('message', ({ job }) => {
  let result
  try {
    result = job.map(match)
  } catch {}
  parentPort.postMessage({ result })
})
`

export class RegexThread {
  readonly #thread: JobThread<readonly RegexText[], readonly RegexMatch[] | undefined>
  readonly #spent: Matching

  private constructor(source: string, spent: Matching) {
    this.#thread = new JobThread(program, { workerData: source, resourceLimits, eval: true })
    this.#spent = spent
  }

  /** Throws `invalid_input` for an invalid regular expression. */
  static async start(source: string, spent: Matching): Promise<RegexThread> {
    if (!hasThreads) throw refusal('needs a thread, which this platform lacks: search for words')
    checkSyntax(source)
    const thread = new RegexThread(source, spent)
    await thread.#match([])
    return thread
  }

  /** One match for each text. Throws `invalid_input` if it takes too long; then call `end`. */
  async match(texts: readonly RegexText[]): Promise<readonly RegexMatch[]> {
    const began = performance.now()
    const left = Math.max(0, MATCHING_MS_MAX - this.#spent.ms)
    try {
      return await this.#match(texts, AbortSignal.timeout(Math.ceil(left)))
    } finally {
      this.#spent.ms += performance.now() - began
    }
  }

  /** Resolves when the thread has ended. */
  async end(): Promise<void> {
    await this.#thread.end()
  }

  async #match(texts: readonly RegexText[], signal?: AbortSignal): Promise<readonly RegexMatch[]> {
    const matches = await this.#thread.run(texts, { signal, cancelMs: 0 }).catch(() => {
      // If it has no memory left, the thread ends alone.
      const isLate = signal?.aborted === true
      throw refusal(`${isLate ? 'takes too long' : 'needs too much memory'}; make it simpler`)
    })
    if (matches === undefined) throw refusal('is too large; search for less at once')
    return matches
  }
}

/** Without the sentence of the engine, which repeats the expression. */
function checkSyntax(source: string): void {
  const compile = (): RegExp => new RegExp(source, 'iu')
  try {
    compile()
  } catch {
    throw refusal('is not valid in JavaScript with the flags iu')
  }
}

function refusal(why: string): StoreError {
  return new StoreError('invalid_input', `The regular expression ${why}`)
}

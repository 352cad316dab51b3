// A thread that matches one regular expression, within bounds of time and memory: an expression
// that backtracks may take years, and no engine reports that beforehand. The thread holds texts in
// RAM and ends with the search.

import type { Worker } from 'node:worker_threads'
import { StoreError } from '../../errors.ts'
import { findWorker, startWorker } from '../../worker-threads.ts'
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
 * What regex-worker.ts does, for the bundle of a program, which has no file for a thread. In the
 * calling thread nothing could end an expression that takes years.
 */
const bundledWorker = `
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
parentPort.on('message', (texts) => {
  let matches
  try {
    matches = texts.map(match)
  } catch {}
  parentPort.postMessage(matches)
})
parentPort.postMessage(undefined)
`

type Reply = readonly RegexMatch[] | undefined

export class RegexThread {
  readonly #worker: Worker
  readonly #spent: Matching

  private constructor(worker: Worker, spent: Matching) {
    this.#worker = worker
    this.#spent = spent
  }

  /** Throws `invalid_input` for an invalid regular expression. */
  static async start(source: string, spent: Matching): Promise<RegexThread> {
    checkSyntax(source)
    const entry = findWorker(import.meta.url, 'regex-worker')
    const options = { workerData: source, resourceLimits, eval: entry === undefined }
    const thread = new RegexThread(startWorker(entry ?? bundledWorker, options), spent)
    await thread.#reply()
    return thread
  }

  /** One match for each text. Throws `invalid_input` if it takes too long; then call `end`. */
  async match(texts: readonly RegexText[]): Promise<readonly RegexMatch[]> {
    const began = performance.now()
    this.#worker.postMessage(texts)
    const matches = await this.#reply(Math.max(0, MATCHING_MS_MAX - this.#spent.ms)).finally(() => {
      this.#spent.ms += performance.now() - began
    })
    if (matches === undefined) throw refusal('is too large; search for less at once')
    return matches
  }

  /** Resolves when the thread has ended. */
  async end(): Promise<void> {
    await this.#worker.terminate()
  }

  #reply(milliseconds?: number): Promise<Reply> {
    const worker = this.#worker
    return new Promise<Reply>((resolve, reject) => {
      const refuse = (why: string) => (): void => {
        stop()
        reject(refusal(why))
      }
      const take = (reply: Reply): void => {
        stop()
        resolve(reply)
      }
      const giveUp = refuse('takes too long; make it simpler')
      // It had no memory left, which ends the thread alone.
      const die = refuse('needs too much memory; make it simpler')
      const timer = milliseconds === undefined ? undefined : setTimeout(giveUp, milliseconds)
      const stop = (): void => {
        clearTimeout(timer)
        worker.off('message', take).off('error', die)
      }
      worker.on('message', take).on('error', die)
    })
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

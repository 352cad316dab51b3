// Signals, and cleanup however the process ends. The store itself needs no cleanup: it may stop at
// any instruction and loses nothing that was acknowledged.

import { StoreError } from '../../errors.ts'
import type { Interrupts } from '../call/command.ts'

/** How long other work may take to stop after the first Ctrl-C. */
const GRACE_MS = 1000

export function listenForInterrupts(): Interrupts {
  return new ProcessInterrupts()
}

class ProcessInterrupts implements Interrupts {
  readonly #controller = new AbortController()
  #ignored = false
  #ending: string | undefined
  #isStoppable = false

  constructor() {
    process.on('SIGINT', () => this.#interrupt())
    process.on('SIGTERM', () => this.#terminate())
    process.on('SIGHUP', () => this.#hangUp())
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  async patiently<T>(ending: string, work: () => Promise<T>): Promise<T> {
    const before = this.#ending
    this.#ending = ending
    try {
      return await work()
    } finally {
      this.#ending = before
    }
  }

  async untilStopped<T>(ending: string, work: () => Promise<T>): Promise<T> {
    const before = this.#isStoppable
    this.#isStoppable = true
    try {
      return await this.patiently(ending, work)
    } finally {
      this.#isStoppable = before
    }
  }

  async ignoring<T>(work: () => Promise<T>): Promise<T> {
    this.#ignored = true
    try {
      return await work()
    } finally {
      this.#ignored = false
    }
  }

  atExit(cleanup: () => void): () => void {
    return cleanAtExit(cleanup)
  }

  #interrupt(): void {
    if (this.#ignored) return
    if (this.signal.aborted) this.#end(130)
    this.#controller.abort(new StoreError('cancelled', 'Cancelled'))
    if (this.#ending === undefined) setTimeout(() => this.#end(130), GRACE_MS).unref()
    else process.stderr.write('\nStopping; Ctrl-C again ends immediately\n')
  }

  #terminate(): void {
    if (!this.#isStoppable) process.exit(143)
    if (this.signal.aborted) this.#end(143)
    this.#controller.abort(new StoreError('cancelled', 'Cancelled'))
  }

  /** The kernel and the shell may each send one, so that a second one ends nothing. */
  #hangUp(): void {
    if (!this.#isStoppable) process.exit(129)
    this.#controller.abort(new StoreError('cancelled', 'Cancelled'))
  }

  #end(exitCode: number): never {
    if (this.#ending !== undefined) process.stderr.write(`\ngitlocket: ${this.#ending}\n`)
    process.exit(exitCode)
  }
}

function cleanAtExit(cleanup: () => void): () => void {
  let done = false
  const once = (): void => {
    if (done) return
    done = true
    process.off('exit', once)
    cleanup()
  }
  process.on('exit', once)
  return once
}

// Asks for questions on a terminal, one line after the other; lines that are pasted together are
// one question. Keeps no history but in RAM.

import { createInterface, type Interface } from 'node:readline'

export class ChatPrompt {
  readonly #reader: Interface
  /** Lines of the question that is being read. */
  #lines: string[] = []
  #answer: ((question: string | undefined) => void) | undefined
  #isClosed = false

  /** `signal` ends the input. */
  constructor(signal: AbortSignal) {
    this.#reader = createInterface({
      input: process.stdin,
      output: process.stderr,
      terminal: true,
      prompt: '> ',
      signal,
    })
    this.#reader.on('line', (line) => this.#take(line))
    this.#reader.on('SIGINT', () => this.#startAgain())
    this.#reader.on('close', () => {
      this.#isClosed = true
      this.#resolve(undefined)
    })
  }

  /** Undefined at the end of the input: Ctrl-D on an empty line. */
  next(): Promise<string | undefined> {
    if (this.#isClosed) return Promise.resolve(undefined)
    process.stdin.setRawMode(true)
    return new Promise((resolve) => {
      this.#answer = resolve
      this.#reader.prompt()
      // What was typed meanwhile.
      if (this.#lines.length > 0) this.#deliver()
    })
  }

  /** While an answer comes, Ctrl-C is a signal and not a key. */
  pause(): void {
    this.#reader.pause()
    process.stdin.setRawMode(false)
  }

  close(): void {
    this.#reader.close()
  }

  #take(line: string): void {
    this.#lines.push(line)
    if (this.#lines.length === 1) setImmediate(() => this.#deliver())
  }

  #deliver(): void {
    if (this.#answer === undefined || this.#lines.length === 0) return
    const question = this.#lines.join('\n')
    this.#lines = []
    this.#resolve(question)
  }

  /** Ctrl-C drops what is typed. */
  #startAgain(): void {
    const isEmpty = this.#reader.line === ''
    process.stderr.write(isEmpty ? '\nCtrl-D ends the chat\n' : '\n')
    this.#reader.write(null, { ctrl: true, name: 'e' })
    this.#reader.write(null, { ctrl: true, name: 'u' })
    this.#reader.prompt()
  }

  #resolve(question: string | undefined): void {
    const answer = this.#answer
    this.#answer = undefined
    answer?.(question)
  }
}

// A clone of the store in its own process, which is killed and started again.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cleanEnvironment } from '../bench/machine.ts'
import type { Ask, ClonePlace, Message, Request } from './child.ts'

const childModule = fileURLToPath(new URL('child.js', import.meta.url))

export type Pulse = Extract<Message, { type: 'pulse' }>

const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/** The process ended before it answered. */
export class Killed extends Error {
  override readonly name = 'Killed'
}

/** The process answered with a failure. */
export class Failed extends Error {
  override readonly name = 'Failed'
  readonly code: string | undefined

  constructor(code: string | undefined, message: string) {
    super(message)
    this.code = code
  }
}

interface Waiting {
  resolve(this: void, value: unknown): void
  readonly reject: (error: Error) => void
}

export class CloneProcess {
  readonly #child: ChildProcess
  readonly #waiting: Map<number, Waiting> = new Map()
  #asked = 0
  #ended = false

  private constructor(child: ChildProcess, onPulse: (pulse: Pulse) => void) {
    this.#child = child
    child.on('message', (message: Message) => {
      if (message.type === 'pulse') onPulse(message)
      else if (message.type === 'answer') this.#take(message.id)?.resolve(message.value)
      else if (message.type === 'failed')
        this.#take(message.id)?.reject(new Failed(message.code, message.text))
    })
    child.once('exit', () => {
      this.#ended = true
      running.delete(child)
      for (const id of this.#waiting.keys()) this.#take(id)?.reject(new Killed())
    })
    running.add(child)
  }

  /** Resolves once the store is open. */
  static async start(place: ClonePlace, onPulse: (pulse: Pulse) => void): Promise<CloneProcess> {
    const env = cleanEnvironment(dirname(place.directory))
    const child = fork(childModule, [JSON.stringify(place)], { env })
    const clone = new CloneProcess(child, onPulse)
    const opened = once(child, 'message').then(() => true)
    const ended = once(child, 'exit').then(() => false)
    if (await Promise.race([opened, ended])) return clone
    throw new Error(`${place.directory} could not be opened`)
  }

  /** Rejects with Killed or Failed. */
  ask(request: Request): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#ended) {
        reject(new Killed())
        return
      }
      this.#asked += 1
      this.#waiting.set(this.#asked, { resolve, reject })
      const ask: Ask = { id: this.#asked, request }
      // A message that cannot be sent is rejected when the process has ended.
      this.#child.send(ask, () => undefined)
    })
  }

  async kill(): Promise<void> {
    if (this.#ended) return
    const ended = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await ended
  }

  /** Open files of the process; undefined if the system does not show them. */
  countHandles(): number | undefined {
    try {
      return readdirSync(`/proc/${this.#child.pid}/fd`).length
    } catch {
      return undefined
    }
  }

  #take(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    return waiting
  }
}

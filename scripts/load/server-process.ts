// The process of the server: started, killed, and looked at from outside.

import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

/** What was seen of one life of the process: now, or at most. */
export interface Life {
  /** MiB. */
  readonly memory: number
  readonly handles: number
}

export interface ProcessOptions {
  /** That of this process by default. */
  readonly env?: NodeJS.ProcessEnv
  /** An open file for standard error, which is that of this process by default. */
  readonly log?: number
}

export class ServerProcess {
  readonly lives: Life[] = []
  readonly #command: readonly string[]
  readonly #url: string
  readonly #options: ProcessOptions
  #child: ChildProcess | undefined
  #looking: NodeJS.Timeout | undefined

  constructor(command: readonly string[], url: string, options: ProcessOptions = {}) {
    this.#command = command
    this.#url = url
    this.#options = options
  }

  /** Of the process that runs. */
  get pid(): number | undefined {
    return this.#child?.pid
  }

  /** Resolves when it answers. */
  async start(): Promise<void> {
    const [program = '', ...args] = this.#command
    const { env, log = 'inherit' } = this.#options
    const child = spawn(program, args, { env, stdio: ['ignore', 'ignore', log] })
    this.#child = child
    const number = this.lives.push({ memory: 0, handles: 0 }) - 1
    this.#looking = setInterval(() => this.#look(number), 100)
    for (let attempt = 0; ; attempt += 1) {
      if (child.exitCode !== null) throw new Error(`The server ended with ${child.exitCode}`)
      const answer = await fetch(`${this.#url}/healthz`).catch(() => undefined)
      if (answer?.ok === true) return
      if (attempt === 600) throw new Error('The server does not answer for a minute')
      await rest(100)
    }
  }

  kill(): Promise<void> {
    return this.#end('SIGKILL')
  }

  /** As an operator does. */
  stop(): Promise<void> {
    return this.#end('SIGTERM')
  }

  #look(number: number): void {
    const { memory = 0, handles = 0 } = this.lives[number] ?? {}
    const now = lookAt(this.pid)
    this.lives[number] = {
      memory: Math.max(memory, now.memory),
      handles: Math.max(handles, now.handles),
    }
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    clearInterval(this.#looking)
    const child = this.#child
    if (child === undefined || child.exitCode !== null) return
    const ended = new Promise<void>((resolve) => {
      child.once('exit', () => resolve())
    })
    child.kill(signal)
    await ended
  }
}

export function rest(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, Math.max(0, ms))
  })
}

/** On Linux, of a process that runs; elsewhere nothing is seen. */
function lookAt(pid: number | undefined): Life {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    const kibibytes = Number(/VmRSS:\s*(\d+)/.exec(status)?.[1] ?? 0)
    return { memory: kibibytes / 1024, handles: readdirSync(`/proc/${pid}/fd`).length }
  } catch {
    return { memory: 0, handles: 0 }
  }
}

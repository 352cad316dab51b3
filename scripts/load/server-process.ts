// The process of the server: started, killed, and looked at from outside.

import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

/** What was seen of one life of the process. */
export interface Life {
  /** MiB, at most. */
  memory: number
  handles: number
}

export class ServerProcess {
  readonly lives: Life[] = []
  readonly #command: readonly string[]
  readonly #url: string
  #child: ChildProcess | undefined
  #looking: NodeJS.Timeout | undefined

  constructor(command: readonly string[], url: string) {
    this.#command = command
    this.#url = url
  }

  /** Resolves when it answers. */
  async start(): Promise<void> {
    const [program = '', ...args] = this.#command
    const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'inherit'] })
    this.#child = child
    const life = { memory: 0, handles: 0 }
    this.lives.push(life)
    this.#looking = setInterval(() => look(child.pid, life), 100)
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

/** On Linux; elsewhere nothing is seen. */
function look(pid: number | undefined, life: Life): void {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    const kibibytes = Number(/VmRSS:\s*(\d+)/.exec(status)?.[1] ?? 0)
    life.memory = Math.max(life.memory, kibibytes / 1024)
    life.handles = Math.max(life.handles, readdirSync(`/proc/${pid}/fd`).length)
  } catch {
    // It has just ended.
  }
}

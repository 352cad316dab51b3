// How an agent in a sandbox writes: by one long `gitlocket tool --stream` or `gitlocket mcp`, or by
// a command for each write.

import { createInterface } from 'node:readline'
import type { Ended, Home, Started } from './home.ts'
import type { Write } from './journal.ts'

export const agentKinds = ['stream', 'mcp', 'commands'] as const
export type AgentKind = (typeof agentKinds)[number]

export type Ending = 'input' | 'SIGTERM' | 'SIGKILL'

/** The answer to a write. */
export interface Answer {
  readonly isDone: boolean
  /** Of a process that has ended: whether it has sent the write. */
  readonly isSent: boolean
  /** As a failed process prints it. */
  readonly failure: Ended
}

export interface Agent {
  /** Undefined if the process was ended before it answered. */
  write(write: Write): Promise<Answer | undefined>
  /** Undefined if no process was left to end. */
  end(how: Ending): Promise<Ended | undefined>
}

export function startAgent(kind: AgentKind, home: Home): Agent {
  if (kind === 'commands') return new CommandAgent(home)
  const isMcp = kind === 'mcp'
  return new LineAgent(isMcp ? home.start('mcp') : home.start('tool', '--stream'), isMcp)
}

/** The input of the memory tool. */
function inputOf({ kind, path, token }: Write): object {
  const at = `/memories${path}`
  if (kind === 'line')
    return { command: 'insert', path: at, insert_line: 0, insert_text: `${token}\n` }
  return { command: 'create', path: at, file_text: `${token}\n` }
}

/** The code of the only error that a text without one may have. */
const grantEnded = '"code":"grant_expired"'

/** The exit code of a command that SIGTERM has ended before it answered. */
const terminated = 143

const initialize = {
  protocolVersion: '2025-06-18',
  capabilities: {},
  clientInfo: { name: 'soak', version: '1' },
}

/** Sends a line for each write, and waits for the line of its answer. */
class LineAgent implements Agent {
  readonly #started: Started
  readonly #isMcp: boolean
  readonly #ended: Promise<undefined>
  #waiting: ((line: string) => void) | undefined
  #sent = 0

  constructor(started: Started, isMcp: boolean) {
    this.#started = started
    this.#isMcp = isMcp
    this.#ended = started.ended.then(() => undefined)
    const { stdout } = started.child
    if (stdout !== null) {
      createInterface({ input: stdout }).on('line', (line) => this.#waiting?.(line))
    }
    if (isMcp) {
      this.#send({ id: this.#sent, method: 'initialize', params: initialize })
      this.#send({ method: 'notifications/initialized' })
    }
  }

  async write(write: Write): Promise<Answer | undefined> {
    this.#sent += 1
    const input = inputOf(write)
    const params = { name: 'memory', arguments: input }
    const line = await this.#ask(
      this.#isMcp ? { id: this.#sent, method: 'tools/call', params } : input,
    )
    if (line === undefined) return undefined
    const { result = {}, error, is_error: isRefused } = JSON.parse(line)
    const isDone = this.#isMcp ? error === undefined && result.isError !== true : !isRefused
    const failure = {
      exitCode: 1,
      stdout: '',
      stderr: /The grant has ended/.test(line) ? grantEnded : line,
    }
    return { isDone, isSent: false, failure }
  }

  async end(how: Ending): Promise<Ended> {
    const { child, ended } = this.#started
    if (how === 'input') child.stdin?.end()
    else child.kill(how)
    return ended
  }

  #ask(message: object): Promise<string | undefined> {
    const answered = new Promise<string>((resolve) => {
      this.#waiting = (line) => {
        const isOther = this.#isMcp && JSON.parse(line).id !== this.#sent
        if (!isOther) resolve(line)
      }
    })
    this.#send(message)
    return Promise.race([answered, this.#ended])
  }

  #send(message: object): void {
    const whole = this.#isMcp ? { jsonrpc: '2.0', ...message } : message
    this.#started.child.stdin?.write(`${JSON.stringify(whole)}\n`)
  }
}

/** A process for each write, which ends once it has sent it. */
class CommandAgent implements Agent {
  readonly #home: Home
  #running: Started | undefined

  constructor(home: Home) {
    this.#home = home
  }

  async write({ kind, path, token }: Write): Promise<Answer | undefined> {
    const words = { memory: ['create'], line: ['insert', '--line', '0'], text: ['write'] }[kind]
    const started = this.#home.start(...words, path, '--text', `${token}\n`, '--json')
    this.#running = started
    started.child.stdin?.end()
    const failure = await started.ended
    const { exitCode, stdout } = failure
    if (exitCode === undefined || exitCode === terminated) return undefined
    // It fails as well if it could not send a change that is durable here.
    return { isDone: stdout.includes('"changed":true'), isSent: exitCode === 0, failure }
  }

  async end(how: Ending): Promise<Ended | undefined> {
    if (how !== 'input') this.#running?.child.kill(how)
    return this.#running?.ended
  }
}

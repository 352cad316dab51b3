// Starts the server as an agent program would, and asks it for its memories: that a set-up works
// shows only so. A client of MCP with two requests, and no more. Runs our own command line, never
// one that was read from a file.

import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { createInterface } from 'node:readline'
import { CommandError } from '../call/command.ts'
import { desktopVariables } from '../call/environment.ts'
import { isObject, type Json, type JsonObject } from '../machine/json.ts'
import { type Launch, shellLine } from './clients.ts'

const PROTOCOL = '2025-11-25'
/** A large history is verified before the first answer. */
const PATIENCE_MS = 60_000
const STDERR_MAX = 2000

/** How many memories the server shows. Throws `remote_unreachable`, with what the server said. */
export async function countMemories(launch: Launch, signal: AbortSignal): Promise<number> {
  const conversation = new Conversation(launch)
  const end = (): void => conversation.end()
  const timer = setTimeout(end, PATIENCE_MS)
  signal.addEventListener('abort', end)
  try {
    return await askForMemories(conversation)
  } catch (error) {
    signal.throwIfAborted()
    throw error
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', end)
    end()
  }
}

async function askForMemories(conversation: Conversation): Promise<number> {
  await conversation.ask('initialize', {
    protocolVersion: PROTOCOL,
    capabilities: {},
    clientInfo: { name: 'gitlocket-setup', version: '1' },
  })
  conversation.tell('notifications/initialized')
  let count = 0
  let next: Json = null
  do {
    const page: JsonObject = typeof next === 'string' ? { page: next } : {}
    const params = { name: 'memory_list', arguments: { recursive: true, ...page } }
    const content = (await conversation.ask('tools/call', params))['structuredContent'] ?? null
    if (!isObject(content) || !Array.isArray(content['data'])) throw conversation.failed()
    count += content['data'].length
    next = content['next_page'] ?? null
  } while (next !== null)
  return count
}

class Conversation {
  readonly #launch: Launch
  readonly #child: ChildProcessWithoutNullStreams
  readonly #lines: AsyncIterator<string>
  #said = ''
  #id = 0

  constructor(launch: Launch) {
    this.#launch = launch
    const env = desktopVariables(launch.env)
    this.#child = spawn(launch.command, launch.args, { env, stdio: 'pipe' })
    // A program that cannot be started, or has ended, sends nothing: that is the failure.
    this.#child.on('error', () => undefined)
    this.#child.stdin.on('error', () => undefined)
    this.#child.stderr.on('data', (chunk: Buffer) => {
      this.#said = (this.#said + chunk.toString()).slice(0, STDERR_MAX)
    })
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]()
  }

  tell(method: string): void {
    this.#send({ method })
  }

  async ask(method: string, params: JsonObject): Promise<JsonObject> {
    this.#id += 1
    this.#send({ id: this.#id, method, params })
    for (;;) {
      const line = await this.#lines.next()
      const message = line.done === true ? undefined : parsed(line.value)
      if (message === undefined) throw this.failed()
      if (message['id'] !== this.#id) continue
      const result = message['result'] ?? null
      if (!isObject(result) || result['isError'] === true) throw this.failed()
      return result
    }
  }

  failed(): CommandError {
    const { command, args } = this.#launch
    const said = this.#said.trim()
    return new CommandError(
      'remote_unreachable',
      `The server does not answer${said === '' ? '' : `; it says:\n${said}\n`}`,
      `Run \`${shellLine([command, ...args])}\` to see why`,
      { place: '' },
    )
  }

  end(): void {
    this.#child.stdin.end()
    this.#child.kill()
  }

  #send(message: JsonObject): void {
    this.#child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  }
}

function parsed(line: string): JsonObject | undefined {
  try {
    const message: unknown = JSON.parse(line)
    return isObject(message) ? message : undefined
  } catch {
    return undefined
  }
}

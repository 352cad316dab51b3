// Agent programs of other people on a test machine: the installed command on their PATH, and model
// APIs that follow a script, so that they need no network and no key.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { text as readText } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'
import { eventsOf } from '../support/messages-api-stream.ts'
import { type Ended, ended, type Home, mainFile } from './cli-process.ts'

/** `gitlocket` on the PATH, as a program of these lines. */
export function withCommand(home: Home, lines: string): Readonly<Record<string, string>> {
  const directory = join(home.directory, 'bin')
  mkdirSync(directory, { recursive: true })
  const file = join(directory, 'gitlocket')
  writeFileSync(file, `#!/bin/sh\n${lines}\n`)
  chmodSync(file, 0o755)
  return { PATH: `${directory}:${process.env['PATH'] ?? ''}` }
}

export const installed = `exec '${process.execPath}' '${mainFile}' "$@"`

/** Runs a program in the project of a home, without the network and its user's settings. */
export function runProgram(
  home: Home,
  [program = '', ...words]: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  const project = join(home.directory, 'project')
  mkdirSync(project, { recursive: true })
  const all = home.environment({ ...withCommand(home, installed), ...env })
  const child = spawn(program, words, { cwd: project, env: all, stdio: 'pipe' })
  child.stdin.end()
  return ended(child)
}

export function runClaude(
  home: Home,
  words: readonly string[],
  url = 'http://127.0.0.1:9',
): Promise<Ended> {
  return runProgram(home, ['claude', ...words], {
    ANTHROPIC_API_KEY: 'key',
    ANTHROPIC_BASE_URL: url,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
  })
}

/** What a model is asked, as far as scripts look at it. */
export interface AskedMessages {
  /** The whole request. */
  readonly text: string
  readonly tools: readonly string[]
}

export interface ToolUse {
  readonly name: string
  readonly input: object
}

/** A Messages API that has the agent use one tool. `received` are the conversations. */
export async function scriptedApi(script: (asked: AskedMessages) => ToolUse | undefined) {
  const received: string[] = []
  const url = await scriptedServer(/^\/v1\/messages(?:\?|$)/, (body) => {
    const { model, messages, tools = [] } = JSON.parse(body)
    const conversation = JSON.stringify(messages)
    received.push(conversation)
    const names = tools.map(({ name }: { readonly name: string }) => name)
    const used = conversation.includes('tool_result')
      ? undefined
      : script({ text: body, tools: names })
    const content =
      used === undefined
        ? [{ type: 'text', text: 'Done.' }]
        : [{ type: 'tool_use', id: 'toolu_1', ...used }]
    const stop = { stop_reason: used === undefined ? 'end_turn' : 'tool_use' }
    const usage = { input_tokens: 1, output_tokens: 1 }
    const message = { id: 'msg_1', type: 'message', role: 'assistant', model, content, usage }
    return eventsOf({ ...message, ...stop }).join('')
  })
  return { received, url }
}

/** Answers each POST to such a path with server-sent events, until the test ends. */
export async function scriptedServer(
  path: RegExp,
  answer: (body: string) => string,
): Promise<string> {
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await readText(request)
    response.setHeader('content-type', 'text/event-stream')
    const isAsked = request.method === 'POST' && path.test(request.url ?? '')
    response.end(isAsked ? answer(body) : '')
  }
  const server = createServer((request, response) => void respond(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${Object(server.address()).port}`
}

// What a set-up adds to which files: decided before anything is written, so that it is refused as a
// whole. Reads files, and writes none.

import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import { StoreError } from '../../errors.ts'
import { type Context, type Input, usageError } from '../call/command.ts'
import { readAgentEnvironment, type AgentEnvironment } from '../call/environment.ts'
import { isObject, type JsonObject } from '../machine/json.ts'
import {
  SERVER_NAME,
  clients,
  entryOf,
  launchOf,
  shellLine,
  type Client,
  type Launch,
  type Scope,
} from './clients.ts'
import { addTo, holds, type Wanted } from './json-text.ts'
import { readUserFile, type UserFile } from './user-file.ts'

/** One file, and its wanted contents. */
export interface Part {
  readonly path: string
  /** The file of a project lies in it. */
  readonly within: string | undefined
  readonly wanted: readonly Wanted[]
}

export interface SetupPlan {
  readonly client: Client
  readonly scope: Scope
  readonly entry: JsonObject
  /** How the client starts the server, or where it is. */
  readonly target: Launch | { readonly url: string }
  readonly parts: readonly Part[]
}

/** Throws `invalid_input`. */
export function planOf(context: Context, input: Input): SetupPlan {
  const client = clientOf(input.argument(0))
  const agents = readAgentEnvironment()
  const scope: Scope = input.text('scope') === 'project' ? 'project' : 'user'
  const project = process.cwd()
  const within = scope === 'project' ? realpathSync(project) : undefined
  const path = client.fileOf(agents, scope, project)
  if (path === undefined) throw usageError(`${client.title} has no files for a project`, 'setup')
  const url = input.text('url')
  const target =
    url === undefined
      ? launchOf(context.environment, agents, scope, ['mcp'])
      : { url: checkedAddress(url) }
  const entry = entryOf(client, target)
  const wanted: readonly Wanted[] = [
    { path: [client.key], name: SERVER_NAME, value: entry },
    ...(url !== undefined && client.input !== undefined ? [client.input] : []),
  ]
  const parts = [{ path, within, wanted }]
  if (!input.flag('hooks')) return { client, scope, entry, target, parts }
  checkHasHooks(client, url)
  const launch = launchOf(context.environment, agents, scope, ['hook', 'session-start'])
  return { client, scope, entry, target, parts: [...parts, hookPart(agents, within, launch)] }
}

function clientOf(name: string): Client {
  const client = clients.find((one) => one.name === name)
  if (client !== undefined) return client
  const names = clients.map((one) => one.name).join(', ')
  throw usageError(`The program to set up must be one of ${names}`, 'setup')
}

/** An address that a file may hold and a key may be sent to. Throws `invalid_input`. */
function checkedAddress(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const example = 'such as https://memory.example.com/mcp'
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw usageError(`--url must be the address of a server's /mcp, ${example}`, 'setup')
  }
  if (url.username + url.password !== '') {
    throw usageError('--url must hold no key: the program gets it from the user', 'setup')
  }
  const names = [...url.searchParams.keys()]
  if (url.hash !== '' || names.some((name) => name !== 'memory_store_id')) {
    const sentence =
      '--url may name stores as memory_store_id, and holds nothing else behind a ? or #'
    throw usageError(sentence, 'setup')
  }
  const isLocal = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(url.hostname)
  if (url.protocol === 'https:' || isLocal) return url.href
  throw usageError('--url must begin with https: a key would be sent unencrypted', 'setup')
}

function checkHasHooks({ name }: Client, url: string | undefined): void {
  if (name !== 'claude-code') throw usageError('--hooks are for claude-code only', 'setup')
  if (url === undefined) return
  throw usageError('--hooks show the memories of this machine: leave out --url', 'setup')
}

const HOOK_SECONDS = 10

/** The hook takes the place of its shell, so that its parent is the program itself. */
function hookPart(
  { homeDirectory, claudeDirectory }: AgentEnvironment,
  within: string | undefined,
  { command, args, env }: Launch,
): Part {
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`)
  const prefix = variables.length === 0 ? ['exec'] : ['exec', 'env', ...variables]
  const line = shellLine([...prefix, command, ...args])
  const hook = { type: 'command', command: line, timeout: HOOK_SECONDS }
  const judge = (item: JsonObject): 'same' | 'other' | undefined => {
    const hooks: readonly unknown[] = Array.isArray(item['hooks']) ? item['hooks'] : []
    if (hooks.some((one) => holds(one, { type: 'command', command: line }))) return 'same'
    return hooks.some(isOurs) ? 'other' : undefined
  }
  const directory =
    within === undefined
      ? (claudeDirectory ?? join(homeDirectory, '.claude'))
      : join(within, '.claude')
  const wanted: Wanted = { path: ['hooks', 'SessionStart'], value: { hooks: [hook] }, judge }
  return { path: join(directory, 'settings.json'), within, wanted: [wanted] }
}

function isOurs(hook: unknown): boolean {
  const command = isObject(hook) ? hook['command'] : undefined
  if (typeof command !== 'string') return false
  const [, ...rest] = command.split('gitlocket')
  return /\bhook session-start\b/.test(rest.join('gitlocket'))
}

/** A file, and its text with the missing parts. */
export interface Proposal {
  readonly file: UserFile
  /** Undefined if nothing is missing. */
  readonly text: string | undefined
  /** The new parts, without the existing text. */
  readonly lines: readonly string[]
}

/** Throws `invalid_input` if the file is in the way, and a storage code. */
export function proposalOf({ path, within, wanted }: Part): Proposal {
  const file = readUserFile(path, within)
  let text = file.text ?? ''
  const lines: string[] = []
  for (const one of wanted) {
    const added = addTo(path, text, one)
    if (added === undefined) continue
    text = added.text
    lines.push(...added.lines)
  }
  return { file, text: lines.length === 0 ? undefined : text, lines }
}

/** A file that holds the wanted contents and nothing else. */
export function exampleOf({ path, wanted }: Part): string {
  let text = ''
  for (const one of wanted) {
    const added = addTo(path, text, one)
    if (added === undefined) throw new StoreError('invalid_input', 'There is nothing to add')
    text = added.text
  }
  return text
}

// The agent programs that `setup` knows: where each keeps its MCP servers, and in which form, by
// their documentation. A program that is added gets a row here and one in docs/SETUP.md.

import { join } from 'node:path'
import { StoreError } from '../../errors.ts'
import type { AgentEnvironment, Environment } from '../call/environment.ts'
import type { JsonObject } from '../machine/json.ts'
import { programFile } from '../own-package.ts'
import type { Wanted } from './json-text.ts'

export type Scope = 'user' | 'project'

/** The name of our entry, everywhere. */
export const SERVER_NAME = 'gitlocket'
/** A variable of the user's: no file holds its value. */
export const KEY_VARIABLE = 'GITLOCKET_API_KEY'
const INPUT_ID = 'gitlocket-api-key'

/** A command line, and its variables, in addition to those that every program has. */
export interface Launch {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

export interface Client {
  readonly name: string
  readonly title: string
  /** The object that holds the servers. */
  readonly key: 'mcpServers' | 'servers' | 'mcp' | 'mcp_servers'
  /** Undefined if there is no such scope. `project` is the directory of the project. */
  fileOf(agents: AgentEnvironment, scope: Scope, project: string): string | undefined
  /** What it replaces by the value of a variable or by a file; `${` by default. */
  readonly replaced?: RegExp
  /** The entry of a server that the program starts. */
  launched(launch: Launch, scope: Scope): JsonObject
  /** The entry of a server elsewhere, with the user's key; undefined if it takes no key. */
  remote(url: string): JsonObject | undefined
  /** What else must be in the file for that header. */
  readonly input?: Wanted
  /** The name of its agent, if it has one. */
  readonly assistant?: string
  /** What to do once the file is written. */
  readonly next: string
  /** The same for the file of a project, if the program wants more there. */
  readonly nextInProject?: string
}

const userOnly =
  (file: (agents: AgentEnvironment) => string): Client['fileOf'] =>
  (agents, scope) =>
    scope === 'user' ? file(agents) : undefined

export const clients: readonly Client[] = [
  {
    name: 'claude-code',
    title: 'Claude Code',
    assistant: 'Claude',
    key: 'mcpServers',
    fileOf: ({ homeDirectory, claudeDirectory }, scope, project) =>
      scope === 'user'
        ? join(claudeDirectory ?? homeDirectory, '.claude.json')
        : join(project, '.mcp.json'),
    launched: (launch) => ({ type: 'stdio', ...commandEntry(launch) }),
    remote: (url) => ({ type: 'http', url, ...bearer(`\${${KEY_VARIABLE}}`) }),
    next: 'Start a new session of Claude Code; /mcp there shows the server',
    nextInProject:
      'Start `claude` in this project and approve the server, which it asks for once: until then ' +
      'Claude Code does not start it',
  },
  {
    name: 'claude-desktop',
    title: 'Claude Desktop',
    assistant: 'Claude',
    key: 'mcpServers',
    fileOf: userOnly(({ configDirectory }) => {
      return join(configDirectory, 'Claude', 'claude_desktop_config.json')
    }),
    launched: commandEntry,
    remote: () => undefined,
    next: 'Quit Claude Desktop and start it again',
  },
  {
    name: 'cursor',
    title: 'Cursor',
    key: 'mcpServers',
    fileOf: ({ homeDirectory }, scope, project) =>
      join(scope === 'user' ? homeDirectory : project, '.cursor', 'mcp.json'),
    launched: commandEntry,
    remote: (url) => ({ url, ...bearer(`\${env:${KEY_VARIABLE}}`) }),
    next: 'Turn the server on in the settings of Cursor, under MCP',
  },
  {
    name: 'vscode',
    title: 'VS Code',
    key: 'servers',
    fileOf: ({ configDirectory }, scope, project) =>
      scope === 'user'
        ? join(configDirectory, 'Code', 'User', 'mcp.json')
        : join(project, '.vscode', 'mcp.json'),
    launched: (launch) => ({ type: 'stdio', ...commandEntry(launch) }),
    remote: (url) => ({ type: 'http', url, ...bearer(`\${input:${INPUT_ID}}`) }),
    input: keyInput(),
    next: 'Run `MCP: List Servers` in VS Code, and start the server there',
  },
  {
    name: 'codex',
    title: 'Codex',
    key: 'mcp_servers',
    fileOf: ({ codexDirectory }, scope, project) =>
      join(scope === 'user' ? codexDirectory : join(project, '.codex'), 'config.toml'),
    // A server that is not required has a second to start, and is missing from the first turn if a
    // busy machine takes longer. In a project, others may not have gitlocket.
    launched: (launch, scope) => ({
      ...commandEntry(launch),
      ...(scope === 'user' && { required: true }),
    }),
    remote: (url) => ({ url, bearer_token_env_var: KEY_VARIABLE }),
    next: 'Start a new session of Codex; /mcp there shows the server',
    nextInProject: 'Codex reads the file of a project that it trusts: start `codex` here once',
  },
  {
    name: 'gemini',
    title: 'Gemini CLI',
    key: 'mcpServers',
    fileOf: ({ homeDirectory }, scope, project) =>
      join(scope === 'user' ? homeDirectory : project, '.gemini', 'settings.json'),
    replaced: /\$[\w{]/,
    launched: commandEntry,
    remote: (url) => ({ httpUrl: url, ...bearer(`\${${KEY_VARIABLE}}`) }),
    next: 'Start a new session of Gemini CLI in a trusted folder; /mcp there shows the server',
  },
  {
    name: 'opencode',
    title: 'opencode',
    key: 'mcp',
    fileOf: ({ opencodeDirectory }, scope, project) =>
      join(scope === 'user' ? opencodeDirectory : project, 'opencode.json'),
    replaced: /\{(?:env|file):/,
    launched: ({ command, args, env }) => ({
      type: 'local',
      command: [command, ...args],
      ...(Object.keys(env).length > 0 && { environment: env }),
      enabled: true,
    }),
    remote: (url) => ({
      type: 'remote',
      url,
      ...bearer(`{env:${KEY_VARIABLE}}`),
      enabled: true,
    }),
    next: 'Start opencode again; `opencode mcp list` shows the server',
  },
]

function commandEntry({ command, args, env }: Launch): JsonObject {
  return { command, args, ...(Object.keys(env).length > 0 && { env }) }
}

/** `key` as the program writes the value of a variable. */
function bearer(key: string): JsonObject {
  return { headers: { Authorization: `Bearer ${key}` } }
}

/** A prompt whose answer the program keeps in the keychain. */
function keyInput(): Wanted {
  const value = {
    type: 'promptString',
    id: INPUT_ID,
    description: 'API key of the gitlocket server',
    password: true,
  }
  const judge: Wanted['judge'] = (item) => {
    if (item['id'] !== INPUT_ID) return undefined
    return item['type'] === value.type && item['password'] === true ? 'same' : 'other'
  }
  return { path: ['inputs'], value, judge }
}

/** What stands for the server in the file of a program. Throws `invalid_input`. */
export function entryOf(
  client: Client,
  target: Launch | { readonly url: string },
  scope: Scope,
): JsonObject {
  if (!('url' in target)) {
    const { command, args, env } = target
    const { replaced = /\$\{/ } = client
    const words = [command, ...args, ...Object.values(env)]
    const [found] = words.flatMap((word) => replaced.exec(word)?.[0] ?? [])
    if (found === undefined) return client.launched(target, scope)
    const why = 'agent programs take it for a variable'
    throw new StoreError('invalid_input', `A path with "${found}" cannot be set up: ${why}`)
  }
  const entry = client.remote(target.url)
  if (entry !== undefined) return entry
  throw new StoreError(
    'invalid_input',
    `${client.title} takes no server that needs an API key: its connectors have OAuth or no key. ` +
      'Leave out --url to set up the store of this machine, or use another program for the server',
  )
}

/**
 * For one user: absolute paths, since a desktop program has a short PATH, and this machine's places
 * where they are not the usual ones. For a project, whose file others get too: the bare command.
 * Throws `invalid_input`.
 */
export function launchOf(
  environment: Environment,
  { usualPlaces }: AgentEnvironment,
  scope: Scope,
  words: readonly string[],
): Launch {
  const { storeDirectory, identityFile, stateDirectory } = environment
  const isUsualStore = storeDirectory === usualPlaces.directory
  if (scope === 'project') {
    if (isUsualStore) return { command: 'gitlocket', args: words, env: {} }
    throw new StoreError(
      'invalid_input',
      'The files of a project are for others too, and this store is not at its usual place: use ' +
        '--scope user',
    )
  }
  checkIsInstalled(programFile)
  const store = isUsualStore ? [] : ['--store', storeDirectory]
  return {
    command: process.execPath,
    args: [programFile, ...words, ...store],
    env: {
      ...(identityFile !== usualPlaces.identityFile && { GITLOCKET_IDENTITY_FILE: identityFile }),
      ...(stateDirectory !== usualPlaces.stateDirectory && {
        GITLOCKET_STATE_DIRECTORY: stateDirectory,
      }),
    },
  }
}

/** Where commands that run a package without installing it keep it, until they clear it. */
const caches: readonly [command: string, place: RegExp][] = [
  ['npx', /[\\/]_npx[\\/]/],
  ['pnpm dlx', /[\\/](?:dlx|pnpm[\\/].*[\\/]dlx-[^\\/]+)[\\/](?:.*[\\/])?node_modules[\\/]/],
  ['yarn dlx', /[\\/]dlx-[^\\/]+[\\/]|[\\/]\.yarn[\\/](?:berry[\\/])?cache[\\/]/],
  ['bunx', /[\\/]bunx-[^\\/]+[\\/]/],
]

/** Throws `invalid_input` for a program that will not last. */
export function checkIsInstalled(file: string): void {
  const found = caches.find(([, place]) => place.test(file))
  if (found === undefined) return
  throw new StoreError(
    'invalid_input',
    `This gitlocket is in a cache that ${found[0]} clears: run \`npm install -g gitlocket\` first`,
  )
}

/** One line for a POSIX shell. */
export function shellLine(words: readonly string[]): string {
  return words.map(shellWord).join(' ')
}

function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}

// `setup`: connects an agent program to the store. Prints what to run or to paste; with --write it
// changes the program's file, starts the server as the program would, and reports the result. The
// changes are planned before anything is written, so that a set-up is refused as a whole.

import { realpathSync } from 'node:fs'
import { StoreError } from '../../errors.ts'
import { type Answer, type Command, type Context, type Input, usageError } from '../call/command.ts'
import { readAgentEnvironment } from '../call/environment.ts'
import { dryRunOption } from '../call/options.ts'
import type { JsonObject } from '../machine/json.ts'
import {
  type Client,
  clients,
  entryOf,
  KEY_VARIABLE,
  type Launch,
  launchOf,
  type Scope,
  SERVER_NAME,
  shellLine,
} from '../setup/clients.ts'
import { countMemories } from '../setup/connect.ts'
import type { Wanted } from '../setup/json-text.ts'
import {
  changeFiles,
  differenceText,
  exampleOf,
  hookPart,
  type Part,
  proposalOf,
} from '../setup/parts.ts'
import { inTurn } from '../setup/turns.ts'
import { getIdentity, isStoreHere } from '../store/open-store.ts'
import { exitCodeOf } from '../terminal/output.ts'
import { countText } from '../text/words.ts'

export const commands: readonly Command[] = [
  {
    name: 'setup',
    summary: 'Connect claude-code, codex, cursor or another agent program to the store',
    usage: '<program>',
    options: {
      '--scope <user|project>':
        'For all projects of this user, or for the one in this directory; else user',
      '--url <address>': 'The /mcp of a server, instead of this store',
      '--write': 'Change the file of the program, and check the connection',
      ...dryRunOption,
      '--hooks': 'For claude-code: show the memories when a session begins',
      '--memory': 'For claude-code: mirror the files of its own memory, and nothing else',
      '--with-tracked': 'With --memory: also files of the project that git may track',
      '--name <text>': 'With --memory: the name of a project that is in no repository',
    },
    notes: [
      `Programs: ${clients.map(({ name }) => name).join(', ')}.`,
      'Prints what to run, or what to add to which file. --write adds it: all else in the file ' +
        'is kept, and a file that cannot be extended is refused. --dry-run shows the lines that ' +
        'would be new.',
      'For one user the file gets absolute paths. The files of a project are for others too: ' +
        'they get the bare command `gitlocket`, which each of them installs. No file gets a ' +
        'key: for --url the program takes it from GITLOCKET_API_KEY, or asks.',
      '--hooks adds a hook that lists the memories at the start of each session, and gives its ' +
        'id to what the session writes: `gitlocket rollback --session` takes it back.',
      '--memory finds the directories in which the program keeps its own notes, of this project, ' +
        'of its agents and of other projects, and keeps each one and a place below /claude-code ' +
        'the same, as `mirror` does. A repository is known again on another machine by its first ' +
        'commit and its remote. A hook makes the session the author of its notes.',
    ],
    run: setup,
  },
]

async function setup(context: Context, input: Input): Promise<Answer> {
  if (input.flag('memory')) {
    checkHasHooks(clientOf(input.argument(0)), input.text('url'), '--memory is')
    // Loaded on demand: other programs have no files of memory.
    const { setupMemory } = await import('../mirror/setup-memory.ts')
    return setupMemory(context, input)
  }
  const plan = planOf(context, input)
  if (input.flag('dry-run')) return difference(plan)
  return input.flag('write') ? write(context, plan) : instructions(plan)
}

function indented(text: string): string {
  return text.replaceAll(/^(?=.)/gm, '  ')
}

function instructions(plan: SetupPlan): Answer {
  const { client, parts } = plan
  const command = commandOf(plan)
  const [add, run] = command === undefined ? ['Add', ''] : ['Or add', `  ${shellLine(command)}`]
  const pieces = parts.map((part, index) => {
    return `${index === 0 ? add : 'And'} this to ${part.path}:\n\n${indented(exampleOf(part))}`
  })
  const check = 'url' in plan.target ? '' : ', and checks the connection'
  const proposed = parts.map(({ path }) => ({ file: path, status: 'proposed' }))
  return {
    text: [
      ...(run === '' ? [] : [`Run this:\n\n${run}\n`]),
      ...pieces,
      `With --write, \`gitlocket setup ${client.name}\` adds it${check}.`,
      ...keyAdvice(plan),
      '',
    ].join('\n'),
    json: answerJson(plan, proposed),
  }
}

function difference(plan: SetupPlan): Answer {
  const proposals = plan.parts.map(proposalOf)
  const found = proposals.map(({ file, text }) => {
    return { file: file.path, status: text === undefined ? 'unchanged' : 'proposed' }
  })
  return { text: proposals.map(differenceText).join(''), json: answerJson(plan, found) }
}

async function write(context: Context, plan: SetupPlan): Promise<Answer> {
  const { target } = plan
  if (!('url' in target)) checkHasStore(context)
  const proposals = await inTurn(context.environment, () => changeFiles(plan.parts))
  const done = proposals.map(({ file, text }) => ({
    file: file.path,
    status: text === undefined ? 'unchanged' : 'written',
  }))
  const lines = proposals.map(({ file, text }) => {
    return text === undefined ? `${file.path}: nothing to do` : `Wrote ${file.path}`
  })
  const { next, nextInProject } = plan.client
  const approval = plan.scope === 'project' ? nextInProject : undefined
  const advice = [approval ?? next, ...keyAdvice(plan), ...firstWords(plan), '']
  if ('url' in target) {
    return { text: [...lines, ...advice].join('\n'), json: answerJson(plan, done) }
  }
  try {
    const memories = await countMemories(target, context.interrupts.signal)
    const what = approval === undefined ? 'Connected' : 'The server works'
    const connected = `${what}: ${countText(memories, 'memory', 'memories')}`
    return {
      text: [...lines, connected, ...advice].join('\n'),
      json: { ...answerJson(plan, done), memories },
    }
  } catch (error) {
    const text = [...lines, ''].join('\n')
    const exitCode = exitCodeOf(error)
    return { text, json: answerJson(plan, done), failures: [error], exitCode }
  }
}

/** What a user can try at once, and where to look whether it worked. */
function firstWords({ client, target }: SetupPlan): readonly string[] {
  const say = `Then say to ${client.assistant ?? 'the agent'}: Remember that I prefer pnpm.`
  return 'url' in target ? [say] : [say, 'After that, `gitlocket log` shows the new memory']
}

function checkHasStore(context: Context): void {
  getIdentity(context.environment)
  if (isStoreHere(context)) return
  throw new StoreError('not_a_store', 'There is no store yet: `gitlocket init` creates one')
}

/** The program's own command for the server, where it has one. */
function commandOf({ client, scope, target }: SetupPlan): readonly string[] | undefined {
  if (client.name !== 'claude-code') return undefined
  const start = ['claude', 'mcp', 'add']
  if ('url' in target) {
    const header = `Authorization: Bearer \${${KEY_VARIABLE}}`
    const where = ['--transport', 'http', SERVER_NAME, target.url]
    return [...start, '--scope', scope, ...where, '--header', header]
  }
  // --env takes all words up to the next option.
  const env = Object.entries(target.env).flatMap(([name, value]) => ['--env', `${name}=${value}`])
  const { command, args } = target
  return [...start, ...env, '--scope', scope, SERVER_NAME, '--', command, ...args]
}

function keyAdvice({ client, target }: SetupPlan): readonly string[] {
  if (!('url' in target)) return []
  const key = 'an API key of the server (`gitlocket api-key create` there makes one)'
  const store =
    'A workspace without a store has no memories: `gitlocket store create` on the server makes one'
  return client.input === undefined
    ? [
        `${client.title} reads ${key} from the variable ${KEY_VARIABLE}: set it before it starts`,
        store,
      ]
    : [`${client.title} asks for ${key}, and keeps it`, store]
}

function answerJson(
  plan: SetupPlan,
  files: readonly { readonly file: string; readonly status: string }[],
): Readonly<Record<string, unknown>> {
  const { client, scope, entry } = plan
  const command = commandOf(plan)
  return {
    client: client.name,
    scope,
    name: SERVER_NAME,
    server: entry,
    files,
    command: command ?? null,
  }
}

interface SetupPlan {
  readonly client: Client
  readonly scope: Scope
  readonly entry: JsonObject
  /** How the client starts the server, or where it is. */
  readonly target: Launch | { readonly url: string }
  readonly parts: readonly Part[]
}

/** Throws `invalid_input`. */
function planOf(context: Context, input: Input): SetupPlan {
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
  const entry = entryOf(client, target, scope)
  const wanted: readonly Wanted[] = [
    { path: [client.key], name: SERVER_NAME, value: entry },
    ...(url !== undefined && client.input !== undefined ? [client.input] : []),
  ]
  const parts = [{ path, within, wanted }]
  if (!input.flag('hooks')) return { client, scope, entry, target, parts }
  checkHasHooks(client, url)
  const launch = launchOf(context.environment, agents, scope, ['hook', 'session-start'])
  const hook = { event: 'SessionStart', words: 'hook session-start', launch }
  return { client, scope, entry, target, parts: [...parts, hookPart(agents, within, hook)] }
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

function checkHasHooks({ name }: Client, url: string | undefined, what = '--hooks are'): void {
  if (name !== 'claude-code') throw usageError(`${what} for claude-code only`, 'setup')
  if (url === undefined) return
  throw usageError(`${what} for the memories of this machine: leave out --url`, 'setup')
}

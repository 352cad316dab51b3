// `setup`: connects an agent program to the store. Prints what to run or to paste; with --write it
// changes the program's file, starts the server as the program would, and says what it found.

import { systemDisk } from '../../disk/disk.ts'
import { StoreError } from '../../errors.ts'
import type { Answer, Command, Context, Input } from '../call/command.ts'
import { dryRunOption } from '../call/options.ts'
import { KEY_VARIABLE, SERVER_NAME, shellLine } from '../setup/clients.ts'
import { countMemories } from '../setup/connect.ts'
import { exampleOf, planOf, proposalOf, type SetupPlan, type Proposal } from '../setup/plan.ts'
import { inTurn } from '../setup/turns.ts'
import { checkWritable, replaceUserFile, tidy } from '../setup/user-file.ts'
import { getIdentity, isStoreHere } from '../store/open-store.ts'
import { exitCodeOf } from '../terminal/output.ts'
import { countText } from '../text/words.ts'

export const commands: readonly Command[] = [
  {
    name: 'setup',
    summary: 'Connect claude-code, claude-desktop, cursor or vscode to the store',
    usage: '<program>',
    options: {
      '--scope <user|project>':
        'For all projects of this user, or for the one in this directory; else user',
      '--url <address>': 'The /mcp of a server, instead of this store',
      '--write': 'Change the file of the program, and check the connection',
      ...dryRunOption,
      '--hooks': 'For claude-code: show the memories when a session begins',
    },
    notes: [
      'Prints what to run, or what to add to which file. --write adds it: all else in the file ' +
        'is kept, and a file that cannot be extended is refused. --dry-run shows the lines that ' +
        'would be new.',
      'For one user the file gets absolute paths. The files of a project are for others too: ' +
        'they get the bare command `gitlocket`, which each of them installs. No file gets a ' +
        'key: for --url the program takes it from GITLOCKET_API_KEY, or asks.',
      '--hooks adds a hook that lists the memories at the start of each session, and gives its ' +
        'id to what the session writes: `gitlocket rollback --session` takes it back.',
    ],
    run: setup,
  },
]

function setup(context: Context, input: Input): Promise<Answer> | Answer {
  const plan = planOf(context, input)
  if (input.flag('dry-run')) return difference(plan)
  return input.flag('write') ? write(context, plan) : instructions(plan)
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

function indented(text: string): string {
  return text.replaceAll(/^(?=.)/gm, '  ')
}

function difference(plan: SetupPlan): Answer {
  const proposals = plan.parts.map(proposalOf)
  const found = proposals.map(({ file, text }) => {
    return { file: file.path, status: text === undefined ? 'unchanged' : 'proposed' }
  })
  return { text: proposals.map(differenceText).join(''), json: answerJson(plan, found) }
}

/** The lines that are new alone: those next to them may hold secrets of other programs. */
function differenceText({ file, text, lines }: Proposal): string {
  if (text === undefined) return `${file.path}: nothing to do\n`
  return `${file.path}: would get\n${lines.map((line) => `+ ${line}\n`).join('')}`
}

async function write(context: Context, plan: SetupPlan): Promise<Answer> {
  const { target } = plan
  if (!('url' in target)) checkHasStore(context)
  const proposals = await inTurn(context.environment, () => changeFiles(plan))
  const done = proposals.map(({ file, text }) => ({
    file: file.path,
    status: text === undefined ? 'unchanged' : 'written',
  }))
  const lines = proposals.map(({ file, text }) => {
    return text === undefined ? `${file.path}: nothing to do` : `Wrote ${file.path}`
  })
  const { next, nextInProject } = plan.client
  const approval = plan.scope === 'project' ? nextInProject : undefined
  const advice = [approval ?? next, ...keyAdvice(plan), '']
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

/** What it proposes is read in the same turn: two set-ups may add to one file. */
async function changeFiles(plan: SetupPlan): Promise<readonly Proposal[]> {
  const proposals = plan.parts.map(proposalOf)
  for (const { file, text } of proposals) if (text !== undefined) checkWritable(file)
  for (const { file, text } of proposals) {
    if (text === undefined) tidy(systemDisk, file.target)
    else await replaceUserFile(systemDisk, file, text)
  }
  return proposals
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
    const header = `Authorization: ${client.bearer ?? ''}`
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

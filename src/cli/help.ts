// Help texts, made from the table of commands alone.

import { exitCodes } from '../operations/exit-codes.ts'
import type { Command } from './call/command.ts'
import { variables } from './call/environment.ts'
import { globalOptions } from './call/options.ts'
import { type CommandGroup, loadGroups } from './table.ts'
import { wrap } from './terminal/output.ts'

/** The width of help. */
const COLUMNS = 100
/** Longer terms get a line of their own, so that meanings remain in one column. */
const TERM_MAX = 34

/** What a user asks help about; about the daily commands without any. */
export interface HelpSubject {
  readonly command?: Command
  /** The verbs with the same first word. */
  readonly family?: readonly Command[]
  readonly topic?: 'all' | 'environment' | 'exit-codes'
}

/** As wide as the terminal, if that is narrower than a page. */
export async function helpText(
  { command, family, topic }: HelpSubject,
  width: number,
): Promise<string> {
  const columns = Math.min(width, COLUMNS)
  if (command !== undefined) return commandHelp(command, columns)
  if (family !== undefined) return familyHelp(family, columns)
  if (topic === 'all') return overview(await loadGroups(), columns)
  if (topic === 'environment') return sections([environmentSection(columns)])
  return topic === 'exit-codes' ? sections([exitCodeSection(columns)]) : dailyHelp
}

/** The commands of every day. It loads none of them, so that it appears at once. */
export const dailyHelp = `gitlocket: an encrypted, versioned memory for AI agents, on git

Begin:
  init                  create a store on this machine
  join <url>            get a store from a remote
  setup <client>        give an agent program the memory

Every day:
  status                show the store, and what needs attention
  ls, cat, search       list, read and find memories
  create, write, edit   write them; also append, str-replace, mv, rm
  log, diff, blame      show what changed, when, and who wrote a line
  undo                  take back what a session wrote
  sync                  exchange changes with the remotes
  conflicts             review what merges combined
  console               open the store in a browser

Now and then:
  redact                erase a text from the whole history
  device, key, remote   decide who may read and write, and where
  doctor, verify        find and repair damage
  report                write who did what when, for an auditor

\`gitlocket <command> --help\` shows the options of a command. More help:
\`help --all\` for every command, \`help environment\`, \`help exit-codes\`.
`

/** What `gitlocket device --help` prints. */
function familyHelp(commands: readonly Command[], columns: number): string {
  const rows = commands.map((one): HelpRow => [usageOf(one, false), one.summary])
  return sections([
    ['Commands', table(rows, columns)],
    ['', ['`gitlocket <command> --help` tells more about a command.']],
  ])
}

/** What `gitlocket help --all` prints. */
export function overview(groups: readonly CommandGroup[], columns: number = COLUMNS): string {
  return sections([
    ['', ['gitlocket: an encrypted, versioned memory store for AI agents, on git']],
    ['Usage', ['gitlocket [--store <directory>] [--json] [--utc] <command> …']],
    ...groups.map(({ title, commands }) => {
      const rows = commands.map((one): HelpRow => [usageOf(one, false), one.summary])
      return [title, table(rows, columns)] as const
    }),
    environmentSection(columns),
    exitCodeSection(columns),
    ['', ['`gitlocket <command> --help` tells more about a command.']],
  ])
}

/** What `gitlocket <verb> --help` prints. */
export function commandHelp(command: Command, columns: number = COLUMNS): string {
  const { aliases = [] } = command
  return sections([
    ['', wrap(command.summary, columns)],
    ['Usage', [`gitlocket ${usageOf(command, true)}`]],
    ...(aliases.length === 0 ? [] : [['Also', [aliases.join(', ')]] as const]),
    ['Options', table(Object.entries({ ...command.options, ...globalOptions }), columns)],
    ...(command.notes ?? []).map((note) => ['', wrap(note, Math.min(columns, 80))] as const),
  ])
}

/** `create <path> [-] [options]` */
export function usageOf({ name, usage, options }: Command, withOptions: boolean): string {
  const words = [name, usage, withOptions && options !== undefined ? '[options]' : undefined]
  return words.filter((word) => word !== undefined).join(' ')
}

/** On a narrower terminal, meanings are below their terms. */
const MEANING_MIN = 42

type HelpRow = readonly [term: string, meaning: string]

function table(rows: readonly HelpRow[], columns: number): string[] {
  const terms = rows.map(([term]) => term.length).filter((length) => length <= TERM_MAX)
  const width = Math.max(...terms, 0)
  if (columns - width < MEANING_MIN) return stacked(rows, columns)
  return rows.flatMap(([term, meaning]) => {
    const lines = wrap(meaning, columns - INDENT.length - width - 2)
    const first = term.length <= width ? [`${term.padEnd(width)}  ${lines.shift() ?? ''}`] : [term]
    return [...first, ...lines.map((line) => `${' '.repeat(width)}  ${line}`)]
  })
}

function stacked(rows: readonly HelpRow[], columns: number): string[] {
  return rows.flatMap(([term, meaning]) => {
    const lines = wrap(meaning, columns - 3 * INDENT.length)
    return [term, ...lines.map((line) => `${INDENT}${INDENT}${line}`)]
  })
}

const INDENT = '  '

type Section = readonly [title: string, lines: readonly string[]]

function sections(parts: readonly Section[]): string {
  return parts
    .map(([title, lines]) => {
      if (title === '') return `${lines.join('\n')}\n`
      return `${title}:\n${lines.map((line) => INDENT + line).join('\n')}\n`
    })
    .join('\n')
}

function environmentSection(columns: number): Section {
  return ['Environment', table(Object.entries(variables), columns)]
}

function exitCodeSection(columns: number): Section {
  const rows = [...exitCodes].map(([code, meaning]): HelpRow => [String(code), meaning])
  return ['Exit codes', table(rows, columns)]
}

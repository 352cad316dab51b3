// Help texts, made from the table of commands alone.

import { exitCodes } from '../operations/exit-codes.ts'
import type { Command } from './call/command.ts'
import { variables } from './call/environment.ts'
import { globalOptions } from './call/options.ts'
import type { CommandGroup } from './table.ts'

/** The width of help. */
const COLUMNS = 100
/** Longer terms get a line of their own, so that meanings remain in one column. */
const TERM_MAX = 34

/** What `gitlocket --help` prints. */
export function overview(groups: readonly CommandGroup[]): string {
  return sections([
    ['', ['gitlocket: an encrypted, versioned memory store for AI agents, on git']],
    ['Usage', ['gitlocket [--store <directory>] [--json] <command> …']],
    ...groups.map(({ title, commands }) => {
      const rows = commands.map((one): HelpRow => [usageOf(one, false), one.summary])
      return [title, table(rows)] as const
    }),
    ['Environment', table(Object.entries(variables))],
    [
      'Exit codes',
      table([...exitCodes].map(([code, meaning]): HelpRow => [String(code), meaning])),
    ],
    ['', ['`gitlocket <command> --help` tells more about a command.']],
  ])
}

/** What `gitlocket <verb> --help` prints. */
export function commandHelp(command: Command): string {
  const { aliases = [] } = command
  return sections([
    ['', wrap(command.summary, COLUMNS)],
    ['Usage', [`gitlocket ${usageOf(command, true)}`]],
    ...(aliases.length === 0 ? [] : [['Also', [aliases.join(', ')]] as const]),
    ['Options', table(Object.entries({ ...command.options, ...globalOptions }))],
    ...(command.notes ?? []).map((note) => ['', wrap(note, 80)] as const),
  ])
}

/** `create <path> [-] [options]` */
export function usageOf({ name, usage, options }: Command, withOptions: boolean): string {
  const words = [name, usage, withOptions && options !== undefined ? '[options]' : undefined]
  return words.filter((word) => word !== undefined).join(' ')
}

type HelpRow = readonly [term: string, meaning: string]

function table(rows: readonly HelpRow[]): string[] {
  const terms = rows.map(([term]) => term.length).filter((length) => length <= TERM_MAX)
  const width = Math.max(...terms, 0)
  return rows.flatMap(([term, meaning]) => {
    const lines = wrap(meaning, COLUMNS - INDENT.length - width - 2)
    const first = term.length <= width ? [`${term.padEnd(width)}  ${lines.shift() ?? ''}`] : [term]
    return [...first, ...lines.map((line) => `${' '.repeat(width)}  ${line}`)]
  })
}

const INDENT = '  '

function sections(parts: readonly (readonly [title: string, lines: readonly string[]])[]): string {
  return parts
    .map(([title, lines]) => {
      if (title === '') return `${lines.join('\n')}\n`
      return `${title}:\n${lines.map((line) => INDENT + line).join('\n')}\n`
    })
    .join('\n')
}

function wrap(text: string, columns: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > columns) {
      lines.push(line)
      line = word
    } else {
      line = line === '' ? word : `${line} ${word}`
    }
  }
  return [...lines, line]
}

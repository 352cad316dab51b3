// Prints for the tour: plain text, at most 105 columns, colour only on a terminal. `--full` shows
// every command; without it only the lines of the short story are shown, but all commands run.

import { argv, env, stdout } from 'node:process'
import { styleText } from 'node:util'

type Style = 'bold' | 'dim' | 'green' | 'yellow'

const coloured = stdout.isTTY && env['NO_COLOR'] === undefined && env['TERM'] !== 'dumb'
const columnsMax = 105

/** Whether every command is shown. */
export const isFull: boolean = argv.includes('--full')
let isShown = true

export function print(text = ''): void {
  if (isShown) stdout.write(`${text}\n`)
}

/** Shows what `work` prints in a full tour only. */
export async function inFull<T>(work: () => T | Promise<T>): Promise<T> {
  const before = isShown
  isShown &&= isFull
  try {
    return await work()
  } finally {
    isShown = before
  }
}

export function heading(text: string): void {
  print(`\n${style('bold', text)}`)
}

export function style(name: Style, text: string): string {
  return coloured ? styleText(name, text) : text
}

/**
 * The first `linesMax` lines, below 0 the last ones, each cut to the available width, and in a full
 * tour a count of the others.
 */
export function printBlock(text: string, options: { indent: number; linesMax?: number }): void {
  const { indent, linesMax = Number.POSITIVE_INFINITY } = options
  const lines = text.replace(/\n$/, '').split('\n')
  const margin = ' '.repeat(indent)
  const shown = linesMax < 0 ? lines.slice(linesMax) : lines.slice(0, linesMax)
  for (const line of shown) print((margin + cut(line, columnsMax - indent)).trimEnd())
  const more = lines.length - shown.length
  if (more > 0 && isFull)
    print(style('dim', `${margin}… ${more} more ${more === 1 ? 'line' : 'lines'}`))
}

/** The whole text, broken at spaces. */
export function printWrapped(text: string, indent: number): void {
  const margin = ' '.repeat(indent)
  let line = ''
  for (const word of text.replaceAll('\n', ' ').split(' ')) {
    if (line !== '' && margin.length + line.length + 1 + word.length > columnsMax) {
      print(margin + line)
      line = word
    } else {
      line = line === '' ? word : `${line} ${word}`
    }
  }
  print(margin + line)
}

/** `$ git …`, with a backslash at the end of a continued line, so that it can be copied. */
export function printCommand(words: readonly string[]): void {
  let line = '$'
  for (const word of words) {
    if (line.length + 1 + word.length > columnsMax - 2) {
      print(style('bold', `${line} \\`))
      line = '   '
    }
    line += ` ${word}`
  }
  print(style('bold', line))
}

export function cut(line: string, columns: number): string {
  const flat = line.replaceAll('\t', '  ')
  return flat.length <= columns ? flat : `${flat.slice(0, columns - 1)}…`
}

// Shows a chat: the model's text on standard output as it comes, the commands and what they have
// made on standard error. What a model writes is hostile to a terminal: everything is escaped.

import { openEndOf, visible, visibleLine } from '../../text/visible.ts'
import type { Ink } from '../ink.ts'
import { shortId } from '../short-id.ts'
import type { CommandRun, MadeVersion } from './chat-memory.ts'
import type { ChatListener } from './conversation.ts'

/** UTF-16 units of a text of the model that is shown on a line with others. */
const SHOWN_MAX = 200
const VERSIONS_MAX = 10

export class ChatScreen implements ChatListener {
  readonly #ink: Ink
  readonly #isTerminal: boolean
  #isLineOpen = false
  /** An end that the next piece may change: half a pair, or the beginning of an emoji. */
  #held = ''

  /** Whether standard output is a terminal, and the ink of standard error. */
  constructor(isTerminal: boolean, ink: Ink) {
    this.#isTerminal = isTerminal
    this.#ink = ink
  }

  text(piece: string): void {
    const text = this.#held + piece
    const end = openEndOf(text)
    this.#held = text.slice(end)
    this.#write(text.slice(0, end))
  }

  command(run: CommandRun): void {
    this.end()
    process.stderr.write(commandText(this.#ink, run))
  }

  end(): void {
    this.#write(this.#held)
    this.#held = ''
    if (this.#isLineOpen) this.#write('\n')
  }

  #write(text: string): void {
    if (text === '') return
    this.#isLineOpen = !text.endsWith('\n')
    const whole = text.toWellFormed()
    process.stdout.write(this.#isTerminal ? visible(whole) : whole)
  }
}

/** The command, and a line for each version that it has made, or why it was refused. */
function commandText(ink: Ink, run: CommandRun): string {
  const lines = [ink.paint('dim', `memory ${inputText(run.input)}`)]
  if (run.isError) lines.push(ink.paint('yellow', `  ${onOneLine(run.content)}`))
  for (const made of run.made.slice(0, VERSIONS_MAX)) lines.push(`  ${versionText(ink, made)}`)
  const more = run.made.length - VERSIONS_MAX
  if (more > 0) lines.push(`  and ${more} more`)
  return `${lines.join('\n')}\n`
}

function versionText(ink: Ink, { version, lines }: MadeVersion): string {
  const { versionId, operation, path, movedFrom } = version
  const what = movedFrom === undefined ? operation : 'moved'
  const where = movedFrom === undefined ? path : `${movedFrom} => ${path}`
  const counts = lines === undefined ? '' : `  +${lines.added} -${lines.removed}`
  const rest = `  ${what.padEnd(8)}  ${onOneLine(where ?? '(redacted)')}${counts}`
  return ink.paint('yellow', shortId(versionId)) + rest
}

/** `create /memories/notes.md`, of what may be anything. */
function inputText(input: unknown): string {
  const fields: Readonly<Record<string, unknown>> =
    typeof input === 'object' && input !== null ? { ...input } : {}
  const { command, path, old_path: from, new_path: to } = fields
  const words = command === 'rename' ? [command, from, '=>', to] : [command, path]
  return words.map((word) => (typeof word === 'string' ? onOneLine(word) : '?')).join(' ')
}

/** Shortened, with everything escaped that a terminal would obey. */
function onOneLine(text: string): string {
  const short = text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text
  return visibleLine(short.toWellFormed())
}

// A list on a terminal of which the user picks one, by arrow keys or by number. Draws on standard
// error. The rows must be safe for a terminal.

import { emitKeypressEvents, type Key } from 'node:readline'
import { StoreError } from '../../errors.ts'
import type { Context } from '../call/command.ts'

/** Lines that the title, the keys and the prompt of the shell take. */
const OTHER_LINES = 5
const ROWS_LEAST = 3
/** The columns before a row, for the mark and the number, and one that is left empty. */
export const CHOICE_MARGIN = 7

/**
 * The index of a row; undefined if the user leaves the list. `head` is above the rows, which are at
 * most as wide as the terminal without `CHOICE_MARGIN`. Call if `canAsk`.
 */
export function choose(
  context: Context,
  head: string,
  rows: readonly string[],
): Promise<number | undefined> {
  const lines = process.stderr.rows ?? 24
  const shown = rows.slice(0, Math.max(ROWS_LEAST, lines - OTHER_LINES))
  return withKeys(context, head, shown)
}

function withKeys(
  { interrupts }: Context,
  head: string,
  rows: readonly string[],
): Promise<number | undefined> {
  const list = new List(rows)
  process.stderr.write(`      ${head}\n`)
  list.draw()
  return new Promise((resolve, reject) => {
    const { stdin } = process
    const restore = interrupts.atExit(() => {
      stdin.off('keypress', press)
      stdin.setRawMode(false)
      stdin.pause()
    })
    const cancel = (): void => end(() => reject(new StoreError('cancelled', 'Cancelled')))
    const end = (settle: () => void): void => {
      interrupts.signal.removeEventListener('abort', cancel)
      restore()
      settle()
    }
    const press = (_: string | undefined, key: Key): void => {
      if (key.ctrl === true && key.name === 'c') cancel()
      else if (key.name === 'return' || key.name === 'enter') end(() => resolve(list.at))
      else if (key.name === 'q' || key.name === 'escape') end(() => resolve(undefined))
      else list.press(key)
    }
    interrupts.signal.addEventListener('abort', cancel, { once: true })
    emitKeypressEvents(stdin)
    stdin.setRawMode(true)
    stdin.on('keypress', press)
    stdin.resume()
  })
}

class List {
  readonly #rows: readonly string[]
  #drawn = 0
  at = 0

  constructor(rows: readonly string[]) {
    this.#rows = rows
  }

  press({ name, sequence = '' }: Key): void {
    const last = this.#rows.length - 1
    const digit = /^[1-9]$/.test(sequence) ? Number(sequence) - 1 : undefined
    if (name === 'up' || name === 'k') this.at = Math.max(0, this.at - 1)
    else if (name === 'down' || name === 'j') this.at = Math.min(last, this.at + 1)
    else if (digit !== undefined && digit <= last) this.at = digit
    else return
    this.draw()
  }

  /** The terminal must not wrap lines, as wide characters still could: their number is known. */
  draw(): void {
    const lines = this.#rows.map((row, index) => {
      const mark = index === this.at ? '\u001b[7m>' : ' '
      return `\r\u001b[K${mark} ${String(index + 1).padStart(2)}  ${row}\u001b[m\n`
    })
    const keys = '\r\u001b[K\u001b[2mArrows or a number, Enter to look, q to leave\u001b[m\n'
    const up = this.#drawn === 0 ? '' : `\u001b[${this.#drawn}A`
    process.stderr.write(`${up}\u001b[?7l${lines.join('')}${keys}\u001b[?7h`)
    this.#drawn = lines.length + 1
  }
}

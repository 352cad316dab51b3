// Colours. Whatever an agent may have written is made harmless before it is coloured, so that texts
// from here may go to a terminal as they are. Elsewhere they stay what they are, byte for byte.

import type { Input } from './command.ts'
import type { Context } from './context.ts'
import { visible } from './output.ts'

export type Colour = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'

export interface Ink {
  plain(text: string): string
  /** Of one line: a pager forgets colours at the end of each. */
  paint(colour: Colour, line: string): string
}

/** SGR parameters of ECMA-48, those that git uses. */
const parameters: Readonly<Record<Colour, number>> = {
  bold: 1,
  dim: 2,
  red: 31,
  green: 32,
  yellow: 33,
  cyan: 36,
}

/** Neither colours nor escapes: for a text that is printed as it is, or made harmless later. */
export const plainInk: Ink = { plain: (text) => text, paint: (_colour, line) => line }

/** As --color says, else as the terminal and NO_COLOR do. */
export function inkOf({ environment }: Context, input: Input): Ink {
  const { terminal, noColour } = environment
  const choice = input.text('color') ?? 'auto'
  const coloured = choice === 'always' || (choice === 'auto' && terminal.capable && !noColour)
  // Colours in a pipe are meant for another program's terminal.
  const harmless = coloured || terminal.output ? visible : (text: string) => text
  return {
    plain: harmless,
    paint: (colour, line) =>
      coloured && line !== ''
        ? `\u001b[${parameters[colour]}m${harmless(line)}\u001b[m`
        : harmless(line),
  }
}

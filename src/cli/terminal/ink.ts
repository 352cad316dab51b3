// Colours. Text that an agent may have written is escaped before it is coloured, so that texts from
// here are safe for a terminal. Off a terminal they remain unchanged, byte for byte.

import { visible } from '../../text/visible.ts'
import type { Input } from '../call/command.ts'
import type { Environment } from '../call/environment.ts'

export type Colour = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'

export interface Ink {
  plain(text: string): string
  /** Takes one line: a pager resets colours at the end of each. */
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

/** Adds neither colours nor escapes, for text that is printed unchanged or escaped later. */
export const plainInk: Ink = { plain: (text) => text, paint: (_colour, line) => line }

/** Follows --color, if the command has it, else the terminal and NO_COLOR. */
export function inkOf(
  { environment }: { readonly environment: Pick<Environment, 'terminal' | 'noColour'> },
  input?: Input,
): Ink {
  const { terminal, noColour } = environment
  const choice = input?.text('color') ?? 'auto'
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

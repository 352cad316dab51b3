// Colours: when there are any, and that nothing an agent wrote reaches a terminal as an escape.

import { describe, expect, test } from 'vitest'
import { Input } from '../../../src/cli/call/command.ts'
import type { Terminal } from '../../../src/cli/call/environment.ts'
import { inkOf } from '../../../src/cli/terminal/ink.ts'

const escape = '\u001b[2J'
const pipe: Terminal = {
  input: false,
  output: false,
  errors: false,
  capable: false,
  columns: 80,
  width: 80,
}
const screen: Terminal = { ...pipe, output: true, capable: true }

describe('ink', () => {
  test.each<[name: string, terminal: Terminal, noColour: boolean, when: string, colours: boolean]>([
    ['a terminal', screen, false, 'auto', true],
    ['a dumb terminal', { ...screen, capable: false }, false, 'auto', false],
    ['a terminal with NO_COLOR', screen, true, 'auto', false],
    ['a terminal with NO_COLOR and --color', screen, true, 'always', true],
    ['a terminal with --color never', screen, false, 'never', false],
    ['a pipe', pipe, false, 'auto', false],
    ['a pipe with --color', pipe, false, 'always', true],
  ])('on %s', (_, terminal, noColour, when, colours) => {
    const input = new Input([], new Map([['color', [when]]]), new Set())
    const ink = inkOf({ environment: { terminal, noColour } }, input)
    expect(ink.paint('red', 'x')).toBe(colours ? '\u001b[31mx\u001b[m' : 'x')
    const harmless = colours || terminal.output
    expect(ink.plain(escape)).toBe(harmless ? '‹U+001B›[2J' : escape)
    expect(ink.paint('red', escape).includes(escape)).toBe(!harmless)
  })
})

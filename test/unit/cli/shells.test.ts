// Help and completion, which are made from the table of commands.

import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { shells } from '../../../src/cli/commands/completion.ts'
import { commandHelp, dailyHelp, overview } from '../../../src/cli/help.ts'
import { parseCommandLine } from '../../../src/cli/program.ts'
import { loadGroups } from '../../../src/cli/table.ts'
import { temporaryDirectory } from '../../support/temporary.ts'
import { requires } from '../../support/tools.ts'

const bash = requires('bash')
const commandGroups = await loadGroups()
const commands = commandGroups.flatMap((group) => group.commands)

function scriptFor(shell: string): string {
  return shells[shell]?.(commands) ?? ''
}

describe('help', () => {
  test('is grouped by task, and names every command', () => {
    const text = overview(commandGroups)
    for (const { title } of commandGroups) expect(text).toContain(`\n${title}:\n`)
    for (const { name } of commands) expect(text).toMatch(new RegExp(`^ {2}${name}\\b`, 'm'))
  })

  test('of every day fits on a screen, and names commands that exist', () => {
    const lines = dailyHelp.split('\n')
    expect(lines.length).toBeLessThanOrEqual(27)
    expect(lines.filter((line) => line.length > 80)).toEqual([])
    const named = lines.flatMap((line) => /^ {2}(\w.*?) {2,}/.exec(line)?.[1]?.split(', ') ?? [])
    const verbs = new Set(commands.map(({ name }) => name.split(' ')[0]))
    expect(named.length).toBeGreaterThan(20)
    expect(named.filter((name) => !verbs.has(name.split(' ')[0] ?? ''))).toEqual([])
  })

  test('has at most 100 columns', () => {
    const texts = [overview(commandGroups), ...commands.map((one) => commandHelp(one))]
    const long = texts.flatMap((text) => text.split('\n')).filter((line) => line.length > 100)
    expect(long).toEqual([])
  })
})

test.each([['redcat'], ['undp'], ['key', 'recovry'], ['remote', 'remvoe'], ['expir']])(
  'a typing error never suggests what destroys: %s %s',
  async (...words: readonly string[]) => {
    const harmful = commands.filter(({ destroys }) => destroys === true)
    const names = harmful.flatMap(({ name, aliases = [] }) => [name, ...aliases])
    const parsed = parseCommandLine(words)
    for (const name of names) await expect(parsed).rejects.not.toThrow(`did you mean "${name}"`)
  },
)

test.each([
  [['shwo'], '; did you mean "show"?'],
  [['stat'], '; did you mean "status"?'],
  [['device', 'lst'], '; did you mean "device list"?'],
  [['expir'], ''],
  [['expo'], '; did you mean "export"?'],
  [['device', 'remov'], ''],
  [['co'], ''],
])('%j is taken for what is one edit away or begins so%s', async (words, suggested) => {
  const parsed = parseCommandLine(words)
  await expect(parsed).rejects.toThrow(/^There is no command|needs a second word/)
  if (suggested === '') await expect(parsed).rejects.not.toThrow('did you mean')
  else await expect(parsed).rejects.toThrow(suggested)
})

describe.skipIf(bash.missing)(`completion${bash.note}`, () => {
  function complete(...typed: readonly string[]): readonly string[] {
    const call = 'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _gitlocket; echo "${COMPREPLY[*]}"'
    const script = `${scriptFor('bash')}\n${call}`
    const { stdout, stderr } = spawnSync('bash', ['-c', script, 'bash', 'gitlocket', ...typed], {
      encoding: 'utf8',
      cwd: '/',
    })
    expect(stderr).toBe('')
    return stdout.trim().split(/\s+/)
  }

  test.each<[typed: string[], words: string[]]>([
    [['app'], ['append']],
    [['undo', '--act'], ['--actor']],
    [['--store', 'x', 'key', 'ro'], ['rotate']],
    [['key', 'passwd', '--re'], ['--remove']],
    [
      ['report', '--format', ''],
      ['html', 'csv', 'json'],
    ],
    [['report', 'verify', '--sig'], ['--signature']],
    [['log', '--actor', ''], ['']],
    [['import', '/et'], ['/etc']],
    [['completion', ''], expect.arrayContaining(['--help'])],
  ])('%j', (typed, words) => {
    expect(complete(...typed)).toEqual(words)
  })
})

describe.each(['zsh', 'fish'] as const)('the script of %s', (shell) => {
  const { missing, note } = requires(shell)

  test('names every command', () => {
    const script = scriptFor(shell)
    for (const { name } of commands) expect(script).toContain(name.split(' ').at(-1))
  })

  test.skipIf(missing)(`is one that it can read${note}`, () => {
    const file = join(temporaryDirectory(), 'script')
    writeFileSync(file, scriptFor(shell))
    const { status, stderr } = spawnSync(shell, ['-n', file], { encoding: 'utf8' })
    expect([status, stderr]).toEqual([0, ''])
  })
})

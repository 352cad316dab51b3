// `recover` and the forms in which a recovery key is typed, on the built command line.
// @module-tag slow

import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { bareRemote } from '../support/clones.ts'
import { firstMachine } from './cli-machines.ts'
import { copiesOf, type Home, newHome } from './cli-process.ts'
import { onTerminal, terminal } from './cli-terminal.ts'

const founded: () => Promise<Home> = copiesOf(async (home) => {
  const { recovery_key: key } = await home.json('init')
  home.file('key', String(key))
})

/** Another machine, with a copy of the store. */
function copied(home: Home): Home {
  const other = newHome()
  mkdirSync(other.store, { recursive: true })
  cpSync(home.store, other.store, { recursive: true })
  cpSync(join(home.directory, 'key'), join(other.directory, 'key'))
  return other
}

describe.skipIf(terminal.missing)(`on a terminal${terminal.note}`, () => {
  const nothingAsked = expect.not.stringContaining('Passphrase or recovery key')

  test('names join where no store is, and asks for no secret', () => {
    const { screen, exitCode } = onTerminal(newHome(), ['recover'])
    expect([exitCode, screen]).toEqual([7, nothingAsked])
    expect(screen).toContain('There is no store on this machine')
    expect(screen).toContain('`gitlocket join <url>`')
  })

  test('asks for no secret in another repository or a file', async () => {
    const home = newHome()
    mkdirSync(join(home.directory, 'work/.git'), { recursive: true })
    writeFileSync(join(home.directory, 'file'), '')
    for (const place of ['work', 'file']) {
      const { screen, exitCode } = onTerminal(home, ['recover', '--store', place])
      expect([exitCode === 0, screen]).toEqual([false, nothingAsked])
    }
  })

  test('names the address of a store that was here', async () => {
    const remote = bareRemote()
    const { home } = await firstMachine(remote)
    await home.ok('ls')
    rmSync(home.store, { recursive: true })
    const { screen, exitCode } = onTerminal(home, ['recover'])
    expect([exitCode, screen]).toEqual([7, nothingAsked])
    expect(screen).toContain(`gitlocket join '${remote}#memstore_`)
  })

  test('a passphrase that begins as a recovery key is taken for one', async () => {
    const other = copied(await founded())
    const typed = [['Passphrase or recovery key', `${keyOf(other).toLowerCase()}\r`]] as const
    const { screen, exitCode } = onTerminal(other, ['recover'], { typed })
    expect([exitCode, screen]).toEqual([0, expect.stringContaining('(owner)')])
  })

  test('a recovery key cannot become the passphrase', async () => {
    const home = await founded()
    const typed = [1, 2, 3].map(() => ['New passphrase', `${keyOf(home)}\r`] as const)
    const { screen, exitCode } = onTerminal(home, ['key', 'passwd'], { typed })
    expect([exitCode, screen]).toEqual([2, expect.stringContaining('A recovery key cannot be')])
  })
})

const forms: readonly (readonly [string, (key: string) => string])[] = [
  ['spaces', (key) => key.replaceAll('-', ' ')],
  ['no separators in lower case', (key) => key.replaceAll('-', '').toLowerCase()],
  ['dashes of a word processor', (key) => ` ${key.replaceAll('-', ' \u2013 ')}`],
  ['dots, and letters for digits', (key) => key.replaceAll('-', '.').replaceAll('1', 'l')],
]

test.each(forms)('a recovery key is known with %s', async (_, form) => {
  const other = copied(await founded())
  const file = other.file('typed', form(keyOf(other)))
  for (const variable of ['GITLOCKET_RECOVERY_KEY_FILE', 'GITLOCKET_PASSPHRASE_FILE']) {
    const machine = copied(other)
    const { stdout, stderr } = await machine.call(['recover', '--json'], { [variable]: file })
    expect(stderr).toBe('')
    expect(JSON.parse(stdout)).toMatchObject({ enrolled: true, role: 'owner' })
  }
})

test('a recovery key with a typing error is not tried as a passphrase', async () => {
  const other = copied(await founded())
  const file = other.file('typed', keyOf(other).replaceAll('-', ' ').slice(0, -1))
  const { exitCode, stderr } = await other.call(['recover'], { GITLOCKET_PASSPHRASE_FILE: file })
  expect([exitCode, stderr]).toEqual([8, expect.stringContaining('typing error')])
})

function keyOf(home: Home): string {
  return readFileSync(join(home.directory, 'key'), 'utf8').trim()
}

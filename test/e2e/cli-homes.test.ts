// Where a store and its identity are when the home directory is missing, empty or relative: never
// in the working directory, and not asked for by a machine that names its places.

import { spawn } from 'node:child_process'
import { chmodSync, readdirSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { defaultPlaces, homeDirectoryOf } from '../../src/home/places.ts'
import { temporaryDirectory } from '../support/temporary.ts'
import { type Ended, ended, mainFile } from './cli-process.ts'

const isRoot = process.getuid?.() === 0
const note = isRoot ? '' : ' (needs root)'
/** A user id that no passwd entry has. */
const stranger = { uid: 54_321, gid: 54_321 }

type Variables = Readonly<Record<string, string>>

function runAsStranger(
  directory: string,
  words: readonly string[],
  variables: Variables,
): Promise<Ended> {
  const env = { PATH: process.env['PATH'], ...variables }
  const child = spawn(process.execPath, [mainFile, ...words], {
    cwd: directory,
    env,
    ...stranger,
    stdio: 'pipe',
  })
  child.stdin.end()
  return ended(child)
}

function openDirectory(): string {
  const directory = temporaryDirectory()
  chmodSync(directory, 0o777)
  return directory
}

const named: Readonly<Record<string, (directory: string) => Variables>> = {
  'the variables of gitlocket': (directory) => ({
    GITLOCKET_STORE: join(directory, 'store'),
    GITLOCKET_IDENTITY_FILE: join(directory, 'identity'),
    GITLOCKET_STATE_DIRECTORY: join(directory, 'state'),
  }),
  XDG: (directory) => ({
    XDG_CONFIG_HOME: join(directory, 'config'),
    XDG_DATA_HOME: join(directory, 'data'),
    XDG_STATE_HOME: join(directory, 'state'),
  }),
  HOME: (directory) => ({ HOME: directory }),
}

describe('a user without a passwd entry', { tags: 'slow' }, () => {
  test.skipIf(!isRoot).each(Object.entries(named))(
    `needs no more than %s${note}`,
    async (_, variablesIn) => {
      const directory = openDirectory()
      const variables = variablesIn(directory)
      const made = await runAsStranger(directory, ['init'], variables)
      expect(made).toMatchObject({ exitCode: 0 })
      const listed = await runAsStranger(directory, ['ls'], variables)
      expect(listed).toMatchObject({ exitCode: 0 })
    },
  )

  test.skipIf(!isRoot).each<[what: string, words: readonly string[], variables: Variables]>([
    ['nothing', ['ls'], {}],
    ['nothing, for init', ['init'], {}],
    ['an empty HOME', ['device', 'card'], { HOME: '' }],
    ['a relative HOME', ['device', 'card'], { HOME: 'home' }],
    ['relative base directories', ['init'], { XDG_CONFIG_HOME: 'c', XDG_DATA_HOME: 'd' }],
    ['nothing, for setup', ['setup', 'cursor', '--write'], {}],
    ['nothing, for an import', ['import', '--from', 'claude-code'], {}],
  ])(`is told to set HOME with %s${note}`, async (_, words, variables) => {
    const directory = openDirectory()
    const { exitCode, stderr } = await runAsStranger(directory, words, variables)
    expect(stderr).toMatch(/^gitlocket: .*set HOME to an absolute path/)
    expect(exitCode).toBe(2)
    expect(readdirSync(directory)).toEqual([])
  })

  test.skipIf(!isRoot)(`needs no home for what uses none${note}`, async () => {
    const directory = openDirectory()
    const made = await runAsStranger(directory, ['key', 'operator'], {})
    expect(made).toMatchObject({ exitCode: 0, stderr: '' })
  })
})

test.each([{}, { HOME: '' }, { HOME: 'relative' }, { HOME: '.' }])(
  'the home with the variables %j is that of the passwd entry',
  (variables) => {
    const { homedir } = userInfo()
    const found = defaultPlaces({ ...variables, XDG_CONFIG_HOME: 'config', XDG_STATE_HOME: './s' })
    expect(homeDirectoryOf(variables)).toBe(homedir)
    expect(found.identityFile).toBe(join(homedir, '.config/gitlocket/identity'))
    expect(found.directory).toBe(join(homedir, '.local/share/gitlocket/store'))
    expect(found.stateDirectory).toBe(join(homedir, '.local/state/gitlocket'))
    expect(found.serverDirectory).toBe(join(homedir, '.local/share/gitlocket/server'))
  },
)

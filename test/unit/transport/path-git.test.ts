// Which hooks of a repository at a path are switched off by name before a push (T22): all that its
// configuration names, or nothing is started.

import {
  appendFileSync,
  mkdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { expect, test } from 'vitest'
import { pathProgram } from '../../../src/transport/process-wire.ts'
import { Endurance } from '../../../src/transport/stall.ts'
import { bareRemote } from '../../support/clones.ts'
import { failureOf } from '../../support/faulty-remotes.ts'
import { cleanEnvironment, git, temporaryDirectory } from '../../support/temporary.ts'

async function switchedOff(
  path: string,
  environmentOfUser = cleanEnvironment(),
): Promise<readonly string[]> {
  const access = { url: path, environment: environmentOfUser }
  const patience = new Endurance(5000, undefined)
  const { environment } = await pathProgram(path, 'git-receive-pack', access, patience)
  const named = Object.keys(environment).filter((key) => key.startsWith('GIT_CONFIG_KEY_'))
  return named.map((key) => environment[key] ?? '')
}

function nameHook(path: string, name: Uint8Array | string): void {
  const words = ['[hook "', name, '"]\n\tevent = pre-receive\n\tcommand = id\n']
  appendFileSync(`${path}/config`, Buffer.concat(words.map((word) => Buffer.from(word))))
}

test.each([
  ['a word', 'x'],
  ['dots', 'a.b.c'],
  ['a carriage return', 'a\rb'],
  ['a line separator', 'a\u{2028}b'],
])('a hook whose name has %s', async (_, name) => {
  const path = bareRemote()
  nameHook(path, name)
  expect(await switchedOff(path)).toEqual([`hook.${name}.enabled`])
})

/** Where a path without its ending means the repository, as `git clone` takes it. */
function movedBelow(suffix: string): string {
  const path = `${temporaryDirectory()}/remote`
  mkdirSync(dirname(`${path}${suffix}`), { recursive: true })
  renameSync(bareRemote(), `${path}${suffix}`)
  nameHook(`${path}${suffix}`, 'x')
  return path
}

test.each(['/.git', '', '.git/.git', '.git'])(
  'a hook of what the path means: %j',
  async (suffix) => {
    expect(await switchedOff(movedBelow(suffix))).toEqual(['hook.x.enabled'])
  },
)

test('a hook behind a link', async () => {
  const path = `${temporaryDirectory()}/link`
  symlinkSync(movedBelow(''), path)
  expect(await switchedOff(path)).toEqual(['hook.x.enabled'])
})

test("a hook of the user's own configuration, even without a repository", async () => {
  const directory = temporaryDirectory()
  nameHook(directory, 'mine')
  const environment = { ...cleanEnvironment(), GIT_CONFIG_GLOBAL: `${directory}/config` }
  expect(await switchedOff(`${directory}/nothing`, environment)).toEqual(['hook.mine.enabled'])
})

test('one process reads the configuration of one repository', async () => {
  const directory = temporaryDirectory()
  const environment = cleanEnvironment()
  const counting = `#!/bin/sh\necho run >> '${directory}/log'\nPATH='${environment['PATH']}'\n`
  writeFileSync(`${directory}/git`, `${counting}exec git "$@"\n`, { mode: 0o755 })
  const PATH = `${directory}:${environment['PATH']}`
  const path = bareRemote()
  nameHook(path, 'x')
  expect(await switchedOff(path, { ...environment, PATH })).toEqual(['hook.x.enabled'])
  expect(readFileSync(`${directory}/log`, 'utf8')).toBe('run\n')
})

test('nothing is started for a name that is not UTF-8', async () => {
  const path = bareRemote()
  nameHook(path, Uint8Array.of(0x61, 0xff, 0x62))
  expect(await failureOf(switchedOff(path))).toMatchObject({ code: 'remote_protocol' })
})

test('nothing is started for a configuration that cannot be listed', async () => {
  const path = bareRemote()
  git(['config', 'core.bare', 'false'], path)
  appendFileSync(`${path}/config`, '[core]\n\tworktree = nowhere\n')
  nameHook(path, 'x')
  expect(await failureOf(switchedOff(path))).toMatchObject({ code: 'remote_protocol' })
})

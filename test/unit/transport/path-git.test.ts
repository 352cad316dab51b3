// Which hooks of a repository at a path are switched off by name before a push (T22): all that its
// configuration names, or nothing is started.

import { appendFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { pathProgram } from '../../../src/transport/path-git.ts'
import { bareRemote } from '../../support/clones.ts'
import { failureOf } from '../../support/faulty-remotes.ts'
import { cleanEnvironment, git } from '../../support/temporary.ts'

async function switchedOff(path: string): Promise<readonly string[]> {
  const access = { url: path, environment: cleanEnvironment() }
  const { environment } = await pathProgram(path, 'git-receive-pack', access, {
    signal: undefined,
    timeoutMs: 5000,
  })
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

test('nothing is started for a name that is no UTF-8', async () => {
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

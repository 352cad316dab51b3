// Deno and Bun run what Node runs: the library, the memory tool, `gitlocket/web` and the command.
// @module-tag slow

import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { bareRemote, sync } from '../support/clones.ts'
import { temporaryDirectory } from '../support/temporary.ts'
import { requires } from '../support/tools.ts'
import { servedGrant } from '../support/web-stores.ts'
import { type Ended, ended, type Home, mainFile, newHome } from './cli-process.ts'

const program = fileURLToPath(new URL('../support/in-runtime.mjs', import.meta.url))

/** Runs words of a shell with no access to this machine's settings. */
function run(home: Home, words: readonly string[]): Promise<Ended> {
  const [command = '', ...rest] = words
  const env = home.environment({ DENO_NO_UPDATE_CHECK: '1' })
  return ended(spawn(command, rest, { cwd: home.directory, env, stdio: 'pipe' }))
}

describe.each([
  { name: 'deno', words: ['deno', 'run', '--allow-all'] },
  { name: 'bun', words: ['bun'] },
] as const)('$name', ({ name, words }) => {
  const { missing, note } = requires(name)

  test.skipIf(missing)(`runs the library, the memory tool and the web${note}`, async () => {
    const { granter, grant, server } = await servedGrant()
    const places = [temporaryDirectory(), bareRemote(), server.url, grant]
    const { stdout, stderr, exitCode } = await run(newHome(), [...words, program, ...places])
    expect([exitCode, stderr]).toEqual([0, ''])
    expect(JSON.parse(stdout)).toEqual({
      told: expect.stringContaining('/memories/b.md'),
      sent: 3,
      merged: 'of the first\na text\nof the second\n',
      found: 1,
      memories: 2,
      read: 'text 0\n',
      toldByWeb: expect.stringContaining('/memories/web.md'),
    })
    await sync(granter)
    expect((await granter.store.read('/web.md'))?.content).toBe('at /web.md\n')
  })

  test.skipIf(missing)(`runs the command, whose store Node then opens${note}`, async () => {
    const home = newHome()
    const url = bareRemote()
    for (const [command, said] of [
      ['init --no-passphrase', /^Created the store memstore_/],
      ['create a.md --text text', /^Created \/a\.md\n$/],
      ['cat a.md', /^text$/],
      ['search --regex t.xt', /^\/a\.md\t1\ttext\t/],
      [`remote add origin ${url}`, /^Added the remote origin/],
      ['sync', /^origin: sent 2 commits/],
      ['verify', /^Verified 2 commits, 1 version and 1 memory/],
    ] as const) {
      const { stdout, stderr, exitCode } = await run(home, [
        ...words,
        mainFile,
        ...command.split(' '),
      ])
      expect([exitCode, stderr, stdout]).toEqual([0, '', expect.stringMatching(said)])
    }
    expect(await home.ok('cat', 'a.md')).toBe('text')
  })
})

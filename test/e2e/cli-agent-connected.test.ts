// An agent program that `setup` has connected, from an empty machine on: the server that its file
// names answers, and what a session of the agent writes can be taken back by the program's own id.

import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { connectByCommand, type McpCaller } from '../support/mcp-client.ts'
import { type Home, mainFile, newHome, newHomeWithStore } from './cli-process.ts'

const slow = { tags: 'slow' }

/** A home as after `npm install -g gitlocket`. */
function machine(): { readonly home: Home; readonly env: Readonly<Record<string, string>> } {
  const home = newHome()
  const directory = join(home.directory, 'bin')
  mkdirSync(directory)
  const file = join(directory, 'gitlocket')
  writeFileSync(file, `#!/bin/sh\nexec '${process.execPath}' '${mainFile}' "$@"\n`)
  chmodSync(file, 0o755)
  return { home, env: { PATH: `${directory}:${process.env['PATH'] ?? ''}` } }
}

test('init and setup, on an empty machine, connect it', slow, async () => {
  const { home, env } = machine()
  execFileSync('gitlocket', ['init', '--no-passphrase'], { env: home.environment(env) })
  const words = ['setup', 'claude-code', '--write', '--hooks']
  const { stdout, exitCode } = await home.run(words, { env })
  expect([exitCode, stdout]).toEqual([0, expect.stringContaining('\nConnected: 0 memories\n')])
  expect(stdout).toContain('\nThen say to Claude: Remember that I prefer pnpm.\n')
})

test.each(['claude-code', 'claude-desktop', 'cursor', 'vscode'])(
  'the server in the file of %s answers, and is asked for every memory',
  slow,
  async (program) => {
    const home = await newHomeWithStore()
    const many = program === 'cursor' ? 120 : 1
    for (let index = 0; index < many; index += 1) {
      home.file(`files/notes/${index}.md`, 'x')
    }
    await home.ok('import', 'files')
    const { files, memories } = await home.json('setup', program, '--write')
    expect(memories).toBe(many)
    const [{ file }] = Array.isArray(files) ? files : []
    const content = JSON.parse(readFileSync(file, 'utf8'))
    const { command, args } = (content.mcpServers ?? content.servers).gitlocket
    const caller = await connectByCommand(command, args, optionsOf(home))
    expect((await caller.value('memory_read', { path: '/memories/notes/0.md' }))['content']).toBe(
      'x',
    )
    await caller.close()
  },
)

test(
  'the file of a project starts the program on the PATH, and reports a missing one',
  slow,
  async () => {
    const { home, env } = machine()
    await home.ok('init', '--no-passphrase')
    const words = ['setup', 'cursor', '--scope', 'project', '--write']
    const missing = await home.run(words, { env: { PATH: '/nowhere' } })
    expect([missing.exitCode, missing.stdout]).toEqual([13, expect.stringContaining('Wrote ')])
    expect(missing.stderr).toMatch(
      /^gitlocket: The server does not answer\nhint: Run `gitlocket mcp`/,
    )
    const { stdout, exitCode } = await home.run(words, { env })
    expect([exitCode, stdout]).toEqual([
      0,
      expect.stringMatching(/nothing to do\nConnected: 0 mem/),
    ])
  },
)

test('passes on the message of the server if the store cannot be opened', slow, async () => {
  const home = await newHomeWithStore()
  writeFileSync(join(home.store, 'gitlocket', 'format'), 'x')
  writeFileSync(join(home.store, 'HEAD'), 'x')
  const { stdout, stderr, exitCode } = await home.call(['setup', 'cursor', '--write'])
  expect([exitCode, stdout]).toEqual([13, expect.stringContaining('Wrote ')])
  expect(stderr).toMatch(/The server does not answer; it says:\ngitlocket: /)
})

function optionsOf(
  home: Home,
  env: Readonly<Record<string, string>> = {},
): Parameters<typeof connectByCommand>[2] {
  const variables = Object.entries(home.environment(env)).flatMap(([name, value]) => {
    return value === undefined ? [] : [[name, value]]
  })
  return { era: '2025-11-25', env: Object.fromEntries(variables) }
}

describe('the writes of a session', () => {
  const agent = (home: Home, env?: Readonly<Record<string, string>>): Promise<McpCaller> =>
    connectByCommand(process.execPath, [mainFile, 'mcp'], optionsOf(home, env))
  const begin = async (home: Home, id: string): Promise<void> => {
    const input = JSON.stringify({ session_id: id, source: 'startup' })
    expect((await home.run(['hook', 'session-start'], { input })).exitCode).toBe(0)
  }

  test('has the id of the program, also of a later session of one process', slow, async () => {
    const home = await newHomeWithStore()
    const caller = await agent(home)
    await begin(home, 'first-id')
    await caller.value('memory_write', { path: '/memories/a.md', content: 'kept' })
    await begin(home, 'second-id')
    await caller.value('memory_write', { path: '/memories/a.md', content: 'poisoned' })
    await caller.value('memory_write', { path: '/memories/b.md', content: 'poisoned' })
    await caller.close()
    await home.ok('rollback', '--session', 'second-id', '--yes')
    expect(await home.ok('cat', 'a.md')).toBe('kept')
    expect(await home.ok('ls')).toBe('a.md\n')
    const { data } = Object(await home.json('log', '--session', 'first-id'))
    expect(data).toMatchObject([{ path: '/a.md', session_id: 'first-id' }])
  })

  test('have the id that the program has set, if no hook knows one', slow, async () => {
    const home = await newHomeWithStore()
    const caller = await agent(home, { CLAUDE_CODE_SESSION_ID: 'set-id' })
    await caller.value('memory_write', { path: '/memories/a.md', content: 'x' })
    await caller.close()
    await home.ok('rollback', '--session', 'set-id', '--yes')
    expect(await home.ok('ls')).toBe('')
  })
})

// The hook at the start of an agent's session: it lists the memories, notes whose session it is for
// the other processes of the same agent program, and breaks nothing whatever it gets.

import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { findAgentSession } from '../../src/cli/setup/agent-session.ts'
import { type Ended, ended, type Home, mainFile, newHome, newHomeWithStore } from './cli-process.ts'

const id = '0d3f7c1e-5b1a-4c0e-9f57-1f2f0a7c2b11'

function hook(home: Home, input: string | Uint8Array): Promise<Ended> {
  const child = home.start(['hook', 'session-start'])
  // It may have heard enough.
  child.stdin?.on('error', () => undefined)
  child.stdin?.end(input)
  return ended(child)
}

function start(session: unknown, source = 'startup'): string {
  return JSON.stringify({ session_id: session, source, hook_event_name: 'SessionStart', cwd: '/' })
}

const moduleAt = (path: string): string => {
  return JSON.stringify(new URL(`../../dist/${path}`, import.meta.url).href)
}
const asksForSession = `
  const { loadSodium } = await import(${moduleAt('crypto/sodium.js')})
  const { findAgentSession } = await import(${moduleAt('cli/setup/agent-session.js')})
  const { readAgentEnvironment, readEnvironment } =
    await import(${moduleAt('cli/call/environment.js')})
  await loadSodium()
  const found = findAgentSession(readEnvironment(undefined), readAgentEnvironment())
  console.log(JSON.stringify(found ?? null))`

/** What a child of this process, as an MCP server is one, takes for its session. */
function sessionOf(home: Home, env: Readonly<Record<string, string>> = {}): string | undefined {
  const words = ['--input-type=module', '-e', asksForSession]
  const text = execFileSync(process.execPath, words, { env: home.environment(env) }).toString()
  return JSON.parse(text) ?? undefined
}

test('lists the memories in the form of the program', { tags: 'slow' }, async () => {
  const home = await newHomeWithStore()
  await home.ok('create', 'notes.md', '--text', 'Hello')
  const { stdout, stderr, exitCode } = await hook(home, start(id))
  expect([exitCode, stderr]).toEqual([0, ''])
  const { hookSpecificOutput, ...others } = JSON.parse(stdout)
  expect(others).toEqual({})
  expect(hookSpecificOutput.hookEventName).toBe('SessionStart')
  expect(hookSpecificOutput.additionalContext).toMatch(
    /: 1 memory\.\n.*\n- "\/memories\/notes\.md", 5 B, [\w ]+\n$/s,
  )
  expect(stdout).not.toContain(home.directory)
})

describe('the session', () => {
  test('is noted by hooks of user and project that run at once', { tags: 'slow' }, async () => {
    const home = await newHomeWithStore()
    for (let round = 0; round < 2; round += 1) {
      const session = `${id}-${round}`
      const all = await Promise.all([1, 2, 3].map(() => hook(home, start(session))))
      expect(all.map(({ stderr }) => stderr)).toEqual(['', '', ''])
      expect(sessionOf(home)).toBe(session)
    }
  })

  test(
    'is known to other children of the same process, and the newest counts',
    { tags: 'slow' },
    async () => {
      const home = await newHomeWithStore()
      expect(sessionOf(home)).toBeUndefined()
      await hook(home, start(id))
      expect(sessionOf(home, { CLAUDE_CODE_SESSION_ID: 'earlier' })).toBe(id)
      await hook(home, start('second', 'clear'))
      expect(sessionOf(home)).toBe('second')
      const notes = join(home.stateDirectory, 'agent-sessions')
      const [note = '', ...others] = readdirSync(notes)
      expect(others).toEqual([])
      expect([statSync(join(notes, note)).mode & 0o777, statSync(notes).mode & 0o777]).toEqual([
        0o600, 0o700,
      ])
    },
  )

  test('of another process is not taken', { tags: 'slow' }, async () => {
    const home = await newHomeWithStore()
    const words = [process.execPath, mainFile, 'hook', 'session-start']
    // The shell keeps running, as another agent program would.
    const child = spawn('/bin/sh', ['-c', '"$@"; exit 0', 'sh', ...words], {
      env: home.environment(),
      stdio: 'pipe',
    })
    child.stdin.end(start(id))
    expect((await ended(child)).stdout).toContain('hookSpecificOutput')
    expect(readdirSync(join(home.stateDirectory, 'agent-sessions'))).toHaveLength(1)
    expect(sessionOf(home)).toBeUndefined()
  })

  test('without a note is the one that the program has set, if it can be one', () => {
    const place = newHome()
    const agents = (session: string): Parameters<typeof findAgentSession>[1] => {
      const { directory, stateDirectory, identityFile, identityIsNamed, serverDirectory } = {
        ...place,
        identityIsNamed: false,
        serverDirectory: '',
      }
      const usualPlaces = {
        directory,
        stateDirectory,
        identityFile,
        identityIsNamed,
        serverDirectory,
      }
      const places = {
        homeDirectory: directory,
        configDirectory: directory,
        codexDirectory: directory,
        opencodeDirectory: directory,
      }
      return { platform: 'linux', claudeDirectory: undefined, session, usualPlaces, ...places }
    }
    expect(findAgentSession(place, agents(id))).toBe(id)
    expect(findAgentSession(place, agents('a b'))).toBeUndefined()
    expect(findAgentSession(place, agents('x'.repeat(5000)))).toBeUndefined()
  })

  test('is kept for a bounded number of processes, the newest', { tags: 'slow' }, async () => {
    const home = await newHomeWithStore()
    const notes = join(home.stateDirectory, 'agent-sessions')
    mkdirSync(notes, { recursive: true })
    for (let index = 0; index < 300; index += 1) {
      const file = join(notes, `old-${index}`)
      writeFileSync(file, 'old')
      utimesSync(file, 1000 + index, 1000 + index)
    }
    await hook(home, start(id))
    expect(readdirSync(notes)).toHaveLength(200)
    expect(readdirSync(notes)).toContain('old-299')
    expect(sessionOf(home)).toBe(id)
  })
})

const slow = { tags: 'slow' }
const strange: readonly (readonly [what: string, input: string | Uint8Array])[] = [
  ['nothing', ''],
  ['no JSON', 'x'],
  ['null', 'null'],
  ['a list', '[]'],
  ['no id', '{}'],
  ['a number for the id', start(7)],
  ['an id that is a path', start('../../escape')],
  ['an id that is a text', start('a\n\u001b[31mb')],
  ['a long id', start('x'.repeat(100_000))],
  ['bytes that are no text', new Uint8Array([0xff, 0xfe, 0])],
  ['deep nesting', '['.repeat(1_000_000)],
  ['more than a hook says', ' '.repeat(20_000_000)],
]

test.each(strange)('given %s it lists the memories, and notes nothing', slow, async (_, input) => {
  const home = await newHomeWithStore()
  const { stdout, stderr, exitCode } = await hook(home, input)
  expect(exitCode).toBe(0)
  expect(JSON.parse(stdout).hookSpecificOutput.additionalContext).toContain(': 0 memories.')
  expect(stderr).toMatch(/^gitlocket: [ -~]+\n$/)
  expect(sessionOf(home)).toBeUndefined()
})

test('without a store it tells the agent nothing, and exits with 0', { tags: 'slow' }, async () => {
  const { stdout, stderr, exitCode } = await hook(newHome(), start(id))
  expect([exitCode, stdout, stderr]).toEqual([0, '', 'gitlocket: There is no store yet\n'])
})

test(
  'with a damaged store, or without a place for its note, it exits with 0',
  { tags: 'slow' },
  async () => {
    const home = await newHomeWithStore()
    writeFileSync(join(home.stateDirectory, 'agent-sessions'), 'a file')
    const first = await hook(home, start(id))
    expect([first.exitCode, first.stderr]).toEqual([0, expect.stringMatching(/^gitlocket: Could /)])
    expect(first.stdout).toContain('0 memories')
    rmSync(join(home.store, 'HEAD'))
    const second = await hook(home, start(id))
    expect([second.exitCode, second.stdout]).toEqual([0, ''])
    expect(second.stderr).toMatch(/^gitlocket: /)
  },
)

test('it does not wait for a caller that leaves its input open', slow, async () => {
  const home = await newHomeWithStore()
  const child = home.start(['hook', 'session-start'])
  child.stdin?.write('{"session_id":')
  const { stdout, stderr, exitCode } = await ended(child)
  expect([exitCode, stdout, stderr]).toEqual([0, '', expect.stringContaining('in time')])
})

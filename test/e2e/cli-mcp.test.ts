// `gitlocket mcp` as its clients run it: a process that speaks on standard input and output, and is
// ended by them.

import type { ChildProcess } from 'node:child_process'
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { bareRemote } from '../support/clones.ts'
import { on, stall, startGitServer } from '../support/git-server.ts'
import { connectByCommand, eras, type Era, type McpCaller } from '../support/mcp-client.ts'
import { git } from '../support/temporary.ts'
import { ended, type Home, mainFile, newHomeWithStore } from './cli-process.ts'

const initialize = {
  method: 'initialize',
  params: {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'Raw Client', version: '1' },
  },
}

function request(id: number, { method, params }: { method: string; params?: object }): string {
  return `${JSON.stringify({ jsonrpc: '2.0', id, method, params: params ?? {} })}\n`
}

function call(id: number, name: string, input: object): string {
  return request(id, { method: 'tools/call', params: { name, arguments: input } })
}

const initialized = '{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
const opening = request(0, initialize) + initialized

interface Message {
  readonly id?: unknown
  readonly result?: { readonly isError?: boolean }
  readonly error?: unknown
}

/** Every line is a message. */
function messagesIn(stdout: string): Message[] {
  expect(stdout).toMatch(/^(?:\{.*\}\n)*$/)
  const messages = stdout.split('\n').filter(Boolean)
  return messages.map((line) => {
    const message = JSON.parse(line)
    expect(message).toMatchObject({ jsonrpc: '2.0' })
    return message
  })
}

function connect(home: Home, era: Era, args: readonly string[] = []): Promise<McpCaller> {
  const env = Object.fromEntries(
    Object.entries(home.environment()).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value]],
    ),
  )
  return connectByCommand(process.execPath, [mainFile, 'mcp', ...args], { era, env })
}

describe.each(eras)('the official client in the protocol %s', { tags: 'slow' }, (era) => {
  test('writes as a session, which a rollback takes back', async () => {
    const home = await newHomeWithStore()
    await home.ok('write', 'kept.md', '--text', 'kept')
    const caller = await connect(home, era)
    await caller.client.listTools()
    await caller.value('memory_write', { path: '/memories/kept.md', content: 'poisoned' })
    await caller.call('memory', { command: 'create', path: '/memories/n.md', file_text: 'new' })
    await caller.close()
    const { data } = Object(await home.json('log'))
    const { session_id: session } = data[0].created_by
    expect(session).toMatch(/^Test-Client-\d{8}T\d{6}-[0-9a-f]{6}$/)
    await home.ok('rollback', '--session', session, '--yes')
    expect(await home.ok('cat', 'kept.md')).toBe('kept')
    expect(await home.ok('ls')).not.toContain('n.md')
  })
})

test('answers requests that came before the input ended', { tags: 'slow' }, async () => {
  const home = await newHomeWithStore()
  const many = Array.from({ length: 200 }, (_, index) =>
    call(index + 1, 'memory_write', { path: `/memories/${index}.md`, content: `${index}` }),
  )
  const { stdout, stderr, exitCode } = await home.run(['mcp'], { input: opening + many.join('') })
  expect([stderr, exitCode]).toEqual(['', 0])
  const answers = messagesIn(stdout)
  expect(answers.map(({ id }) => id).toSorted((a, b) => Number(a) - Number(b))).toEqual(
    Array.from({ length: 201 }, (_, index) => index),
  )
  expect(answers.filter(({ result }) => result?.isError === true)).toEqual([])
  expect(Object(await home.json('ls')).data).toHaveLength(200)
  expectUnlocked(home)
})

test('only messages go to standard output, whatever happens', { tags: 'slow' }, async () => {
  const home = await newHomeWithStore()
  const input = [
    opening,
    'no JSON\n\n{"jsonrpc":"2.0"}\n[]\n"text"\nnull\n',
    '{"jsonrpc":"1.0","id":7,"method":"ping"}\n',
    call(1, 'memory_write', { path: '/memories/a.md', content: 'a' }),
    call(2, 'memory_read', { path: '/memories/\u001b[31m.md' }),
    request(3, { method: 'no/such/method' }),
    call(4, 'no_such_tool', {}),
  ].join('')
  const env = { NODE_OPTIONS: '--trace-warnings --pending-deprecation', NODE_DEBUG: 'http,net' }
  const { stdout, exitCode } = await home.run(['mcp'], { input, env })
  const answers = messagesIn(stdout)
  expect(exitCode).toBe(0)
  expect(answers.map(({ id }) => id)).toEqual(expect.arrayContaining([0, 1, 2, 3, 4]))
  expect(answers.find(({ id }) => id === 1)?.result).toMatchObject({ content: [{ type: 'text' }] })
  expect(answers.find(({ id }) => id === 3)?.error).toMatchObject({ code: -32_601 })
  expect(answers.find(({ id }) => id === 4)?.error).toMatchObject({ code: -32_602 })
})

test('a store that cannot be opened is an error, not an answer', { tags: 'slow' }, async () => {
  const home = await newHomeWithStore()
  writeFileSync(join(home.store, 'refs/heads/main'), `${'0'.repeat(39)}1\n`)
  for (const words of [['mcp'], ['--store', 'nothing', 'mcp']]) {
    const { stdout, stderr, exitCode } = await home.run(words, { input: opening })
    expect(stdout).toBe('')
    expect(stderr).toMatch(/^gitlocket: /)
    expect(exitCode).toBeGreaterThan(0)
  }
})

test('a fault of the store is reported on standard error', { tags: 'slow' }, async () => {
  const home = await newHomeWithStore()
  await home.ok('write', 'a.md', '--text', 'a')
  await home.ok('compact')
  const child = home.start(['mcp'])
  const done = ended(child)
  child.stdin?.write(opening)
  await firstLine(child)
  rmSync(join(home.store, 'objects'), { recursive: true })
  child.stdin?.end(
    call(1, 'memory_read', { path: '/memories/a.md' }) +
      call(2, 'memory_write', { path: '/memories/b.md', content: 'b' }),
  )
  const { stdout, stderr } = await done
  const answers = messagesIn(stdout)
  expect(answers).toHaveLength(3)
  expect(stdout).not.toContain(home.directory)
  if (answers.some(({ result }) => result?.isError === true)) expect(stderr).toMatch(/gitlocket: /)
})

test.each(['SIGTERM', 'SIGINT'] as const)(
  '%s ends it cleanly',
  { tags: 'slow' },
  async (signal) => {
    const home = await newHomeWithStore()
    const child = home.start(['mcp'])
    const done = ended(child)
    child.stdin?.write(opening)
    await firstLine(child)
    child.stdin?.write(call(1, 'memory_write', { path: '/memories/a.md', content: 'a' }))
    await firstLine(child)
    child.kill(signal)
    const { stdout, exitCode } = await done
    expect(messagesIn(stdout)).toHaveLength(2)
    expect(exitCode).toBe(0)
    expect(await home.ok('cat', 'a.md')).toBe('a')
    expectUnlocked(home)
  },
)

test('two of them work with one store', { tags: 'slow' }, async () => {
  const home = await newHomeWithStore()
  const [one, two] = await Promise.all([connect(home, '2026-07-28'), connect(home, '2025-11-25')])
  const written = await Promise.all(
    [one, two].flatMap((caller, who) =>
      Array.from({ length: 10 }, (_, index) =>
        caller.value('memory_write', { path: `/memories/${who}/${index}.md`, content: 'x' }),
      ),
    ),
  )
  expect(written).toHaveLength(20)
  const { data } = Object(await one.value('memory_list', { recursive: true }))
  expect(data).toHaveLength(20)
  await Promise.all([one.close(), two.close()])
  const log = Object(await home.json('log'))
  const sessions = log.data.map((version: unknown) => Object(version).created_by.session_id)
  expect(new Set(sessions).size).toBe(2)
})

test('the guard is that of the store, and mcp has no option for it', { tags: 'slow' }, async () => {
  const home = await newHomeWithStore()
  const secret = ['AKIA', 'QYLPMN5HHHFPZAM2'].join('')
  const input = opening + call(1, 'memory_write', { path: '/memories/k', content: secret })
  expect((await home.run(['mcp', '--no-guard'], { input })).exitCode).toBe(2)
  const guarded = await home.run(['mcp'], { input })
  expect(messagesIn(guarded.stdout)[1]?.result).toMatchObject({ isError: true })
  expect(guarded.stdout).toMatch(/Cannot write \/memories\/k\. .*AWS/)
  await home.ok('settings', '--guard', 'off')
  const free = await home.run(['mcp'], { input })
  expect(messagesIn(free.stdout)[1]?.result?.isError).toBeUndefined()
})

test('--session names the session, and --json has no meaning', { tags: 'slow' }, async () => {
  const home = await newHomeWithStore()
  const input = opening + call(1, 'memory_write', { path: '/memories/a.md', content: 'a' })
  await home.run(['mcp', '--session', 'friday'], { input })
  const { data } = Object(await home.json('log'))
  expect(data[0].created_by).toEqual({ type: 'session_actor', session_id: 'friday' })
  for (const words of [['--json'], ['--session', 'a b'], ['--path', 'a//b'], ['--sync', 'often']]) {
    const { stdout, exitCode } = await home.run(['mcp', ...words], { input })
    expect([stdout, exitCode], words.join(' ')).toEqual(['', 2])
  }
})

describe('--sync', { tags: 'slow' }, () => {
  test('sends new commits, at the end at the latest', async () => {
    const home = await newHomeWithStore()
    await home.ok('remote', 'add', 'origin', bareRemote())
    const input = opening + call(1, 'memory_write', { path: '/memories/a.md', content: 'a' })
    const { stdout, stderr, exitCode } = await home.run(['mcp', '--sync', '1h'], { input })
    expect([stderr, exitCode]).toEqual(['', 0])
    expect(messagesIn(stdout)).toHaveLength(2)
    const { remotes } = Object(await home.json('status'))
    expect(remotes[0]).toMatchObject({ unsent_commits: 0 })
  })

  test('reports a remote that fails, and continues', async () => {
    const home = await newHomeWithStore()
    const url = bareRemote()
    await home.ok('remote', 'add', 'origin', url)
    rmSync(url, { recursive: true })
    const input = opening + call(1, 'memory_write', { path: '/memories/a.md', content: 'a' })
    const { stdout, stderr, exitCode } = await home.run(['mcp', '--sync', '1s'], { input })
    expect(exitCode).toBe(0)
    expect(messagesIn(stdout)[1]?.result?.isError).toBeUndefined()
    // The failure once, while it lasts, and the unsent commits.
    expect(stderr.match(/^gitlocket: .*/gm)).toEqual([
      expect.not.stringContaining('sent'),
      expect.stringMatching(/^gitlocket: Nothing was sent to origin: /),
    ])
  })

  /** A machine with a remote that has its store. */
  async function synced() {
    const home = await newHomeWithStore()
    const repository = bareRemote()
    const server = await startGitServer({ repository })
    await home.ok('remote', 'add', 'origin', server.url)
    await home.ok('sync')
    return { home, repository, server }
  }

  /** A process that has answered a write of `/a.md`. */
  async function written(home: Home) {
    const child = home.start(['mcp', '--sync', '1h'])
    const done = ended(child)
    child.stdin?.write(opening)
    await firstLine(child)
    child.stdin?.write(call(1, 'memory_write', { path: '/memories/a.md', content: 'a' }))
    await firstLine(child)
    return { child, done }
  }

  test('sends a write within seconds, which a kill does not lose', async () => {
    const { home, repository } = await synced()
    const head = (): string => git(['rev-parse', 'main'], repository)
    const before = head()
    const { child, done } = await written(home)
    await vi.waitUntil(() => head() !== before, 60_000)
    child.kill('SIGKILL')
    await done
    const sent = head()
    await home.ok('sync')
    expect(head()).toBe(sent)
    await home.ok('verify')
  })

  test('at SIGTERM a remote that does not answer is waited for, but not for long', async () => {
    const { home, server } = await synced()
    server.fault = on(/./, stall())
    const { child, done } = await written(home)
    child.kill('SIGTERM')
    const { exitCode, stderr } = await done
    expect(exitCode).toBe(0)
    expect(stderr).toContain(
      'gitlocket: 1 commit was not sent to origin: The sync was not done in time\n' +
        'hint: This machine has them: `gitlocket sync` sends them\n',
    )
    expectUnlocked(home)
    expect(await home.ok('cat', 'a.md')).toBe('a')
  })

  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('a second %s ends at once', async (signal, code) => {
    const { home, server } = await synced()
    let isAsked = false
    server.fault = () => (isAsked = true)
    const { child, done } = await written(home)
    child.stdin?.end()
    await vi.waitUntil(() => isAsked, 60_000)
    child.kill(signal)
    // A signal that comes before the first was handled would be one with it.
    const again = setInterval(() => child.kill(signal), 200)
    const { exitCode, stderr } = await done
    clearInterval(again)
    expect(exitCode).toBe(code)
    expect(stderr).toContain(
      '\ngitlocket: Ended; changes that were not sent are on this machine only\n',
    )
    server.fault = undefined
    await home.ok('sync')
    await home.ok('verify')
    expect(await home.ok('cat', 'a.md')).toBe('a')
  })
})

function firstLine({ stdout }: ChildProcess): Promise<unknown> {
  return new Promise((resolve) => stdout?.once('data', resolve))
}

/** No process is known to work with the store. */
function expectUnlocked({ store }: Home): void {
  const directory = join(store, 'gitlocket')
  const locks = existsSync(directory) ? readdirSync(directory) : []
  expect(locks.filter((name) => /^(?:lock|owner)/.test(name))).toEqual([])
}

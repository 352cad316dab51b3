// `gitlocket tool` as a process: one input, a stream of them, malformed input, signals, and readers
// that close early. The texts of the commands are those of the corpus
// (test/conformance/memory-tool-bridge.test.ts).

import { describe, expect, test } from 'vitest'
import { bareRemote } from '../support/clones.ts'
import { git } from '../support/temporary.ts'
import { lineProgram, type LineProgram } from '../support/tool-bridge.ts'
import { ended, type Home, newHomeWithStore } from './cli-process.ts'

const view = JSON.stringify({ command: 'view', path: '/memories' })
const listing =
  "Here're the files and directories up to 2 levels deep in /memories, " +
  'excluding hidden items and node_modules:\n'
const noJson =
  'Error: The input is not JSON: it should be an object such as ' +
  '{"command": "view", "path": "/memories"}'

function create(path: string, file_text: string = 'x'): string {
  return JSON.stringify({ command: 'create', path: `/memories/${path}`, file_text })
}

function created(path: string): string {
  return answer(`File created successfully at: /memories/${path}`)
}

function answer(content: string, is_error: boolean = false): string {
  return JSON.stringify({ content, is_error })
}

function streaming(home: Home, ...words: readonly string[]): LineProgram {
  return lineProgram(home.start(['tool', '--stream', ...words]))
}

describe('one input', { tags: 'slow' }, () => {
  test('is answered on one line of ASCII, when it is durable', async () => {
    const home = await newHomeWithStore()
    const input = create('a.md', 'é\u2028\u{1f600}\n')
    expect(await home.run(['tool', '--session', 's1', '--reason', 'why'], { input })).toEqual({
      stdout: `${created('a.md')}\n`,
      stderr: '',
      exitCode: 0,
    })
    const [version] = JSON.parse(await home.ok('log', 'a.md', '--json')).data
    expect(version).toMatchObject({ session_id: 's1', reason: 'why' })
    const lines = '{\n  "command": "view",\n  "path": "/memories/a.md"\n}\n'
    const { stdout } = await home.run(['tool'], { input: lines })
    expect(stdout).toMatch(/^[\x20-\x7e]*\n$/)
    expect(JSON.parse(stdout).content).toBe(
      "Here's the content of /memories/a.md with line numbers:\n     1\té\u2028\u{1f600}",
    )
  })

  test.each<[what: string, input: string | Uint8Array, content: string]>([
    ['nothing', '', noJson],
    ['no JSON', '{', noJson],
    [
      'bytes that are no UTF-8',
      Uint8Array.of(0x22, 0xff, 0x22),
      'Error: Standard input must be UTF-8 text',
    ],
    [
      'a command that is refused',
      '{"command":"view","path":"/x"}',
      'Error: Invalid `path` parameter: /x. It should be /memories, or begin with /memories/',
    ],
    [
      'a path with what is not seen',
      JSON.stringify({ command: 'view', path: '/x\u3164\ufe0f\u202e\u{e0041}\n' }),
      'Error: Invalid `path` parameter: /x\\u{3164}\\u{fe0f}\\u{202e}\\u{e0041}\\u{a}. ' +
        'It should be /memories, or begin with /memories/',
    ],
  ])('that is %s is answered, and the exit code is 0', async (_, input, content) => {
    const home = await newHomeWithStore()
    const { stdout, exitCode } = await home.run(['tool'], { input })
    expect([JSON.parse(stdout), exitCode]).toEqual([{ content, is_error: true }, 0])
  })

  test('is not answered without a store', async () => {
    const home = await newHomeWithStore()
    const run = await home.run(['--store', 'elsewhere', 'tool'], { input: view })
    expect(run).toMatchObject({ stdout: '', exitCode: 7 })
    expect(run.stderr).toMatch(/^gitlocket: /)
  })
})

describe('a stream', { tags: 'slow' }, () => {
  test('is answered line by line, in order, even if malformed', async () => {
    const home = await newHomeWithStore()
    const lines = [create('a'), '', 'x', `${view}\r`, '[]', create('a'), create('b', '')]
    const { stdout, stderr, exitCode } = await home.run(['tool', '--stream'], {
      input: lines.join('\n'),
    })
    const unknown =
      'Error: Invalid `command` parameter: it should be one of view, create, str_replace, ' +
      'insert, delete, rename'
    expect(stdout.split('\n')).toEqual([
      created('a'),
      answer(noJson, true),
      answer(noJson, true),
      answer(`${listing}1B\t/memories\n1B\t/memories/a`),
      answer(unknown, true),
      answer('Error: File /memories/a already exists', true),
      created('b'),
      '',
    ])
    expect([stderr, exitCode]).toEqual(['', 0])
  })

  test('continues after a line that is too long', async () => {
    const home = await newHomeWithStore()
    const bridge = streaming(home)
    const long = create('a', 'x'.repeat(16 * 2 ** 20))
    expect(await bridge.ask(long)).toBe(
      answer('Error: The line has more than 16777216 bytes', true),
    )
    expect(await bridge.ask(create('a'))).toBe(created('a'))
    bridge.child.stdin?.end()
  })

  test('refuses all but view with --read-only', async () => {
    const home = await newHomeWithStore()
    const bridge = streaming(home, '--read-only')
    expect(await bridge.ask(create('a'))).toBe(
      answer('Error: The access to /memories is read-only: create is refused', true),
    )
    expect(await bridge.ask(view)).toBe(answer(`${listing}0B\t/memories`))
    bridge.child.stdin?.end()
  })

  test('sees the writes of another process, and lets it write', async () => {
    const home = await newHomeWithStore()
    const bridge = streaming(home)
    expect(await bridge.ask(create('a'))).toBe(created('a'))
    await home.ok('write', 'b.md', '--text', 'yz')
    expect(await bridge.ask(view)).toBe(
      answer(`${listing}3B\t/memories\n1B\t/memories/a\n2B\t/memories/b.md`),
    )
    bridge.child.stdin?.end()
  })

  test.each(['SIGINT', 'SIGTERM'] as const)(
    'ends at %s with 0, and what was answered is there',
    async (signal) => {
      const home = await newHomeWithStore()
      const bridge = streaming(home)
      const end = ended(bridge.child)
      expect(await bridge.ask(create('a'))).toBe(created('a'))
      bridge.child.kill(signal)
      expect((await end).exitCode).toBe(0)
      expect(await home.ok('cat', 'a')).toBe('x')
      expect(await home.ok('doctor')).toMatch(/Lock +free\n/)
    },
  )

  test('keeps answered changes when it is killed, or its reader ends', async () => {
    const home = await newHomeWithStore()
    const killed = streaming(home)
    expect(await killed.ask(create('a'))).toBe(created('a'))
    killed.child.kill('SIGKILL')
    await ended(killed.child)
    const left = streaming(home)
    expect(await left.ask(create('b'))).toBe(created('b'))
    const end = ended(left.child)
    left.child.stdout?.destroy()
    left.child.stdin?.end([create('c'), create('d'), ''].join('\n'))
    expect((await end).exitCode).toBe(0)
    expect([await home.ok('cat', 'a'), await home.ok('cat', 'b')]).toEqual(['x', 'x'])
  })

  test('with --sync sends answered changes, at the end at the latest', async () => {
    const home = await newHomeWithStore()
    const remote = bareRemote()
    await home.ok('remote', 'add', 'origin', remote)
    const bridge = streaming(home, '--sync', '1h')
    const end = ended(bridge.child)
    expect(await bridge.ask(create('a'))).toBe(created('a'))
    bridge.child.stdin?.end()
    expect(await end).toMatchObject({ exitCode: 0, stderr: '' })
    const heads = [home.store, remote].map((place) => git(['rev-parse', 'main'], place))
    expect(heads[0]).toBe(heads[1])
    const { exitCode } = await home.run(['tool', '--sync', '1h'], { input: '{}' })
    expect(exitCode).toBe(2)
  })

  test('has no --json: it is JSON', async () => {
    const home = await newHomeWithStore()
    const { stdout, exitCode } = await home.run(['tool', '--stream', '--json'])
    expect([stdout, exitCode]).toEqual(['', 2])
  })
})

// `gitlocket chat` where the Messages API, the model or the installation fails it: what it says,
// its exit code, and what stays.

import { describe, expect, test } from 'vitest'
import { type Failure, memoryCall, text, type Turn } from '../support/messages-api.ts'
import { temporaryDirectory } from '../support/temporary.ts'
import { ask, pipe, scripted } from './chat-rig.ts'
import { newHomeWithStore } from './cli-process.ts'
import { commandOf, installPackage } from './reader-project.ts'

const notes = '/memories/notes.md'
const create = memoryCall('new', { command: 'create', path: notes, file_text: 'one\n' })

/** The SDK tries nothing again. */
function failure(status: number, type: string, message: string, wait = ''): Failure {
  const headers = { 'x-should-retry': 'false', ...(wait !== '' && { 'retry-after': wait }) }
  return { status, type, message, headers }
}

describe('an error of the API', { tags: 'slow' }, () => {
  const rows: readonly (readonly [string, Failure, RegExp, number])[] = [
    ['401', failure(401, 'authentication_error', 'no'), /not accept the key\nhint: Set ANTH/, 6],
    ['403', failure(403, 'permission_error', 'not you'), /not allow this: not you\n/, 6],
    ['404', failure(404, 'not_found_error', 'model: x'), /know this: model: x\nhint: .*--model/, 3],
    ['429', failure(429, 'rate_limit_error', 'no', '7'), /reached\nhint: Wait 7 s and ask/, 10],
    ['400', failure(400, 'invalid_request_error', 'a\u001b[2J'), /request: a‹U\+001B›\[2J\n/, 2],
    ['413', failure(413, 'request_too_large', 'no'), /too long.*\nhint: Start a new chat/, 5],
    ['500', failure(500, 'api_error', 'no'), /overloaded or failing\nhint: Ask again/, 13],
  ]

  test.each(rows)('%s', async (_, reply, said, exitCode) => {
    const home = await newHomeWithStore()
    const ended = await ask(home, await scripted([reply]))
    expect(ended).toEqual({ stdout: '', stderr: expect.stringMatching(said), exitCode })
  })

  test('after a command: the text so far ends in a newline, what is written stays', async () => {
    const home = await newHomeWithStore()
    const api = await scripted([[text('First'), create], failure(529, 'overloaded_error', 'no')])
    const { stdout, stderr, exitCode } = await ask(home, api)
    expect({ stdout, exitCode }).toEqual({ stdout: 'First\n', exitCode: 13 })
    expect(stderr).toMatch(/rollback --session [^]*overloaded/)
    expect(await home.ok('cat', 'notes.md')).toBe('one\n')
  })

  test.each([
    ['breaks off', 'break', /could not be reached, or its answer broke off/],
    ['fails', { type: 'error', error: { type: 'overloaded_error' } }, /overloaded or failing/],
  ] as const)('a stream that %s runs no command', async (_, ending, said) => {
    const home = await newHomeWithStore()
    const api = await scripted([{ content: [text('First'), create], halt: { after: 8, ending } }])
    const { stdout, stderr, exitCode } = await ask(home, api)
    expect({ stdout, exitCode }).toEqual({ stdout: 'First\n', exitCode: 13 })
    expect(stderr).toMatch(said)
    expect((await home.json('ls'))['data']).toEqual([])
  })
})

describe('an answer that is not whole', { tags: 'slow' }, () => {
  const cut = memoryCall('cut', { command: 'create', path: notes, file_text: 'one' })
  const rows: readonly (readonly [string, Turn, string, RegExp, number])[] = [
    [
      'max_tokens: a command that is cut off is not run',
      { content: [text('Then'), cut], stopReason: 'max_tokens' },
      'Then\n',
      /The answer is cut off/,
      5,
    ],
    [
      'refusal',
      { content: [text('I can')], stopReason: 'refusal', stopDetails: { type: 'refusal' } },
      'I can\n',
      /The model declined/,
      6,
    ],
    [
      'model_context_window_exceeded',
      { content: [], stopReason: 'model_context_window_exceeded' },
      '',
      /too long for the model; start a new chat/,
      5,
    ],
  ]

  test.each(rows)('%s', async (_, reply, stdout, said, exitCode) => {
    const home = await newHomeWithStore()
    const ended = await ask(home, await scripted([reply]))
    expect(ended).toEqual({ stdout, stderr: expect.stringMatching(said), exitCode })
    expect((await home.json('ls'))['data']).toEqual([])
  })

  test('pause_turn: goes on by itself', async () => {
    const home = await newHomeWithStore()
    const api = await scripted([
      { content: [text('One, ')], stopReason: 'pause_turn' },
      [text('two.')],
    ])
    const ended = await ask(home, api)
    expect(api.refusals).toEqual([])
    expect(ended).toEqual({ stdout: 'One, two.\n', stderr: '', exitCode: 0 })
  })
})

describe('what is missing', { tags: 'slow' }, () => {
  test('a key', async () => {
    const home = await newHomeWithStore()
    const ended = await home.call(['chat', '-m', 'Remember'])
    expect(ended).toMatchObject({ stdout: '', exitCode: 6 })
    expect(ended.stderr).toMatch(/There is no key .*\nhint: Set ANTHROPIC_API_KEY/)
  })

  test('the SDK', async () => {
    const project = temporaryDirectory()
    installPackage(undefined, project)
    const home = await newHomeWithStore()
    const program = commandOf(project)
    const ended = await pipe(home, await scripted([]), [], { program })
    expect(ended).toMatchObject({ stdout: '', exitCode: 2 })
    expect(ended.stderr).toMatch(/not installed next to gitlocket\nhint: .*npm install -g/)
  })

  test('a message, a store, a valid session', async () => {
    const home = await newHomeWithStore()
    const api = await scripted([])
    const empty = await pipe(home, api, [], { input: ' \n' })
    expect(empty).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('is empty') })
    const session = await ask(home, api, ['--session', 'a b'])
    expect(session).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('1 to 64 characters'),
    })
    const nowhere = await ask(home, api, ['--store', 'elsewhere'])
    expect(nowhere.exitCode).toBe(7)
    expect(api.received).toEqual([])
  })
})

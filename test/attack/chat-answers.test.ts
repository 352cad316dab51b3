// T68: the Messages API, or a model that was talked into something, answers `gitlocket chat` so as
// to drive the terminal, to forge what the chat shows, to reach what is no memory, or without end.

import { describe, expect, test } from 'vitest'
import { ask, scripted, variables } from '../e2e/chat-rig.ts'
import { newHomeWithStore } from '../e2e/cli-process.ts'
import { besideTerminal, terminal } from '../e2e/cli-terminal.ts'
import { memoryCall, resultsOf, text, type Turn } from '../support/messages-api.ts'

describe('T68: a hostile model', { tags: 'slow' }, () => {
  test('whatever a command is, it is answered, and shown on one line', async () => {
    const inputs: readonly unknown[] = [
      {},
      { command: 'toString' },
      { command: ['view'], path: { a: 1 } },
      { command: 'create', path: '/memories/../../etc/passwd', file_text: 'x' },
      { command: 'create', path: '/memories/a\n  memver_fake  created  /b', file_text: 'x' },
      { command: 'create\u001b]0;title\u0007', path: '\u202e/memories' },
      { command: 'view', path: `/memories/${'x'.repeat(100_000)}` },
      { command: 'rename', old_path: 1, new_path: null },
    ]
    const calls = inputs.map((input, index) => memoryCall(`t${index}`, input))
    const other = { type: 'tool_use', id: 'other', name: 'bash', input: { command: 'id' } }
    const api = await scripted([[...calls, other], [text('So be it.')]])
    const home = await newHomeWithStore()
    const { stdout, stderr, exitCode } = await ask(home, api)
    expect(api.refusals).toEqual([])
    expect({ stdout, exitCode }).toEqual({ stdout: 'So be it.\n', exitCode: 0 })
    const results = Object.values(resultsOf(api.received[1]))
    expect(results).toHaveLength(9)
    for (const result of results) expect(result).toMatchObject({ is_error: true })
    const lines = stderr.trimEnd().split('\n')
    expect(lines).toHaveLength(16)
    for (const [index, line] of lines.entries()) {
      expect(line).toMatch(index % 2 === 0 ? /^memory / : /^ {2}\S/)
      expect(line).toMatch(/^[ -~…‹›]{1,600}$/)
    }
    expect((await home.json('ls'))['data']).toEqual([])
  })

  test('a command without end is ended', async () => {
    const home = await newHomeWithStore()
    const view = (_: unknown, index: number): Turn => [
      memoryCall(`t${index}`, { command: 'view', path: '/memories' }),
    ]
    const api = await scripted(Array.from({ length: 60 }, view))
    const { stderr, exitCode } = await ask(home, api)
    expect(api.received).toHaveLength(50)
    expect(stderr).toMatch(/The model has not come to an end; tell it to go on\n$/)
    expect(exitCode).toBe(5)
  })

  test.skipIf(terminal.missing)(`cannot drive the terminal${terminal.note}`, async () => {
    const home = await newHomeWithStore()
    const said = '\u001b]0;mine\u0007\u001b[2J\u202egpj.exe\u009b31m\rover 😀'
    const api = await scripted([[text(said)]])
    const { screen } = await besideTerminal(home, ['chat', '-m', 'Hello'], { env: variables(api) })
    const shown = '‹U+001B›]0;mine‹U+0007 U+001B›[2J‹U+202E›gpj.exe‹U+009B›31m‹U+000D›over 😀\n'
    expect(screen).toBe(shown)
  })
})

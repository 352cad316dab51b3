// `gitlocket chat` on a terminal: several questions, Ctrl-C in the middle of an answer and of a
// command, the end, failures between, and what a terminal must never get.

import { spawn } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { memoryCall, text } from '../support/messages-api.ts'
import { scripted, variables } from './chat-rig.ts'
import { ended, newHomeWithStore } from './cli-process.ts'
import { besideTerminal, terminal } from './cli-terminal.ts'

const notes = '/memories/notes.md'
const create = memoryCall('new', { command: 'create', path: notes, file_text: 'one\n' })

describe.skipIf(terminal.missing)(`a chat${terminal.note}`, { tags: 'slow' }, () => {
  test('goes on from question to question, and says how to take it back', async () => {
    const home = await newHomeWithStore()
    const api = await scripted([[create], [text('Kept.')], [text('As you know: one.')]])
    const { screen, exitCode } = await besideTerminal(home, ['chat', '--session', 'friday'], {
      env: variables(api),
      typed: [
        ['> ', 'Remember one\r'],
        ['Kept.', ''],
        ['> ', 'What was it?\r'],
        ['know: one.', ''],
        ['> ', '\u0004'],
      ],
    })
    expect(api.refusals).toEqual([])
    expect(exitCode).toBe(0)
    expect(screen).toMatch(/memver_\w{10}\S* {2}created {3}\/notes\.md {2}\+1 -0/)
    expect(screen).toMatch(/`gitlocket rollback --session friday` takes back .*\n$/)
    const said = api.received[2]?.messages.map(({ role, content }) => [role, content])
    expect(said).toEqual([
      ['user', [text('Remember one')]],
      ['assistant', [create]],
      ['user', [expect.objectContaining({ type: 'tool_result', tool_use_id: 'new' })]],
      ['assistant', [text('Kept.')]],
      ['user', [text('What was it?')]],
    ])
  })

  test('Ctrl-C stops an answer in the middle, and the next question is answered', async () => {
    const home = await newHomeWithStore()
    const long = { content: [text('A long story')], halt: { after: 3, ending: 'wait' } } as const
    const api = await scripted([[create], long, [text('Well.')]])
    const { screen, exitCode } = await besideTerminal(home, ['chat'], {
      env: variables(api),
      typed: [
        ['> ', 'Tell me\r'],
        ['A lon', '\u0003'],
        ['> ', 'And now?\r'],
        ['Well.', ''],
        ['> ', '/exit\r'],
      ],
    })
    expect(api.refusals).toEqual([])
    expect(exitCode).toBe(0)
    expect(screen).toContain('Cancelled; what was written stays\n')
    const [, , last] = api.received[2]?.messages ?? []
    expect(last).toMatchObject({
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'new' },
        text('(The user interrupted the answer here.)'),
        text('And now?'),
      ],
    })
    expect(await home.ok('cat', 'notes.md')).toBe('one\n')
  })

  test('a failure is told, and its question is as if it had not been asked', async () => {
    const home = await newHomeWithStore()
    const headers = { 'x-should-retry': 'false' }
    const busy = { status: 529, type: 'overloaded_error', message: 'no', headers }
    const api = await scripted([[create], busy, [text('Well.')]])
    const { screen } = await besideTerminal(home, ['chat'], {
      env: variables(api),
      typed: [
        ['> ', 'First\r'],
        ['hint: Ask again', ''],
        ['> ', 'Second\r'],
        ['Well.', ''],
        ['> ', '\u0004'],
      ],
    })
    expect(screen).toContain('gitlocket: The Messages API is overloaded or failing\n')
    expect(api.received[2]?.messages).toEqual([{ role: 'user', content: [text('Second')] }])
  })

  test('Ctrl-C while nothing is asked drops what is typed; several lines are one', async () => {
    const home = await newHomeWithStore()
    const api = await scripted([[text('Well.')]])
    const { screen, exitCode } = await besideTerminal(home, ['chat'], {
      env: variables(api),
      typed: [
        ['> ', '\u0003'],
        ['ends the chat', ''],
        ['> ', 'not this\u0003'],
        ['> ', 'one\rtwo\r'],
        ['Well.', ''],
        ['> ', '\u0004'],
      ],
    })
    expect(exitCode).toBe(0)
    expect(screen).not.toContain('rollback')
    expect(api.received[0]?.messages).toEqual([{ role: 'user', content: [text('one\ntwo')] }])
  })
})

describe('Ctrl-C', { tags: 'slow' }, () => {
  test('in the middle of commands: the one that runs is finished, the rest are not', async () => {
    const home = await newHomeWithStore()
    const calls = Array.from({ length: 400 }, (_, index) =>
      memoryCall(`t${index}`, {
        command: 'create',
        path: `/memories/${index}.md`,
        file_text: 'x\n',
      }),
    )
    const api = await scripted([calls, [text('Never said.')]])
    const child = home.start(['chat', '-m', 'Write'], variables(api))
    // The first command has been answered.
    child.stderr?.once('data', () => child.kill('SIGINT'))
    const { stdout, stderr, exitCode } = await ended(child)
    expect({ stdout, exitCode }).toEqual({ stdout: '', exitCode: 130 })
    expect(api.received).toHaveLength(1)
    const shown = stderr.match(/^ {2}memver_\w+ {2}created /gm) ?? []
    const { data } = await home.json('ls')
    expect(data).toHaveLength(shown.length)
    expect(shown.length).toBeLessThan(400)
    await home.ok('verify')
  })

  test('twice ends the process, whatever it is at', async () => {
    const { href } = new URL('../../dist/cli/interrupts.js', import.meta.url)
    const program = `
      import { listenForInterrupts } from '${href}'
      await listenForInterrupts().cancellable(async (signal) => {
        signal.onabort = () => console.log('stopping')
        console.log('working')
        setInterval(() => undefined, 1000)
        await new Promise(() => undefined)
      })`
    const child = spawn(process.execPath, ['--input-type=module', '--eval', program])
    // Once for each of the two lines.
    child.stdout.on('data', () => child.kill('SIGINT'))
    expect(await ended(child)).toMatchObject({ stdout: 'working\nstopping\n', exitCode: 130 })
  })
})

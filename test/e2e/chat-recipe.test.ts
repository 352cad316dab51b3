// The recipe docs/recipes/chat in a reader's project, with both generations of the SDK: it streams,
// runs the model's commands, and continues after a question that fails.

import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { openDefaultStore } from '../../src/index.ts'
import { memoryCall, startMessagesApi, text } from '../support/messages-api.ts'
import { sharedDirectory } from '../support/temporary.ts'
import { commandOf, installPackage, root, run, sdks, typeErrorsOf } from './reader-project.ts'

const input = { command: 'create', path: '/memories/notes.md', file_text: 'one\n' }
const create = memoryCall('new', input)
const again = memoryCall('again', { ...input, path: '/memories/notes.md\u001b[2J' })
const busy = {
  status: 529,
  type: 'overloaded_error',
  message: 'busy',
  headers: { 'x-should-retry': 'false' },
}
const script = [
  [text('I look.'), create, again],
  [text('Kept\u001b]0;mine\u0007.')],
  busy,
  { content: [text('Not all')], stopReason: 'max_tokens' },
  { content: [text('As you know, ')], stopReason: 'pause_turn' },
  [text('one.')],
]

describe.each(sdks)('with SDK %s', { tags: 'slow' }, (_, sdk) => {
  const project = sharedDirectory()
  beforeAll(() => {
    installPackage(sdk, project)
    cpSync(join(root, 'docs/recipes/chat/agent.mjs'), join(project, 'agent.mjs'))
  })

  test('it type-checks', () => {
    expect(typeErrorsOf(project, 'agent.mjs')).toBe('')
  })

  test("answers each question, and keeps the model's memories", async () => {
    const api = await startMessagesApi(script)
    onTestFinished(() => api.close())
    expect(await run(project, commandOf(project), api, ['init'])).toMatchObject({ code: 0 })
    const lines = ['Remember one', '', 'First', 'Second', 'What was it?']
    const { code, stdout, stderr } = await run(
      project,
      'agent.mjs',
      api,
      [],
      `${lines.join('\n')}\n`,
    )
    expect(api.refusals).toEqual([])
    expect({ code, stdout: stdout.split('\n') }).toEqual({
      code: 0,
      stdout: ['I look.', 'Kept�]0;mine�.', 'Not all', 'As you know, ', 'one.', ''],
    })
    expect(stderr).toContain(`memory ${JSON.stringify(input)}\n`)
    expect(stderr).toMatch(/Error: .*\n/)
    expect(stderr).toContain('busy')
    expect(stderr).toContain('The model ended with max_tokens\n')
    // oxlint-disable-next-line no-control-regex -- no control character may reach the terminal
    expect(stderr).not.toMatch(/[\u0000-\u0009\u000b-\u001f]/)
    const questions = api.received.at(-1)?.messages.filter(({ role }) => role === 'user')
    expect(questions?.map(({ content }) => content)).toEqual([
      'Remember one',
      [
        expect.objectContaining({ tool_use_id: 'new' }),
        expect.objectContaining({ tool_use_id: 'again', is_error: true }),
      ],
      'What was it?',
    ])
    const [, session = ''] = /--session (chat-[0-9a-f-]+)` takes back/.exec(stderr) ?? []
    const store = await openDefaultStore({ HOME: project })
    expect((await store.read('/notes.md'))?.content).toBe('one\n')
    const { data } = await store.history.versions()
    expect(data.map((version) => version.session)).toEqual([session])
    await store.close()
  })
})

// `gitlocket chat` with both generations of the SDK, against a scripted Messages API that streams:
// one message, what it shows and keeps, what it refuses, and what a hostile model can do.

import { beforeAll, describe, expect, test } from 'vitest'
import { search } from '../support/canaries.ts'
import { memoryCall, resultsOf, text } from '../support/messages-api.ts'
import { sharedDirectory } from '../support/temporary.ts'
import { ask, pipe, scripted } from './chat-rig.ts'
import { newHomeWithStore } from './cli-process.ts'
import { commandOf, installPackage, sdks } from './reader-project.ts'

const notes = '/memories/notes.md'
const look = memoryCall('look', { command: 'view', path: '/memories' })
const create = memoryCall('new', { command: 'create', path: notes, file_text: 'one\ntwo\n' })
const edit = { command: 'str_replace', path: notes, old_str: 'two', new_str: '2\n3' }
const rollback = /^`gitlocket rollback --session (chat-[0-9T.]+Z)` takes back .*\n$/m

describe.each(sdks)('one message, with SDK %s', { tags: 'slow' }, (_, sdk) => {
  const project = sharedDirectory()
  beforeAll(() => installPackage(sdk, project))

  test('streams the answer, and shows each command with its versions', async () => {
    const home = await newHomeWithStore()
    const api = await scripted([
      [text('I look first.'), look],
      [create, memoryCall('again', { command: 'create', path: notes, file_text: '' })],
      [{ type: 'thinking', thinking: 'Better so', signature: 'sig' }, memoryCall('edit', edit)],
      [text('Kept😀.')],
    ])
    const options = { program: commandOf(project) }
    const { stdout, stderr, exitCode } = await pipe(home, api, [], options)
    expect(api.refusals).toEqual([])
    expect({ stdout, exitCode }).toEqual({ stdout: 'I look first.\nKept😀.\n', exitCode: 0 })
    const shown = stderr.replaceAll(/memver_\w{10}/g, 'memver_').replace(rollback, 'ROLLBACK\n')
    expect(shown.split('\n')).toEqual([
      'memory view /memories',
      `memory create ${notes}`,
      '  memver_  created   /notes.md  +2 -0',
      `memory create ${notes}`,
      `  Error: File ${notes} already exists`,
      `memory str_replace ${notes}`,
      '  memver_  modified  /notes.md  +2 -1',
      'ROLLBACK',
      '',
    ])
    const [, session = ''] = rollback.exec(stderr) ?? []
    await home.ok('rollback', '--session', session)
    expect((await home.json('ls'))['data']).toEqual([])
  })
})

test('each request is edited, cached and thinks; --no-thinking leaves that out', async () => {
  const home = await newHomeWithStore()
  const api = await scripted([[create], [text('Kept.')], [text('Kept.')]])
  await ask(home, api)
  await ask(home, api, ['--no-thinking', '--model', 'claude-haiku-4-5'])
  const [first, second, third] = api.received.map(({ body }) => body)
  const clearing = expect.objectContaining({
    type: 'clear_tool_uses_20250919',
    exclude_tools: ['memory'],
  })
  const thinking = expect.objectContaining({ type: 'clear_thinking_20251015' })
  expect(first).toMatchObject({
    model: 'claude-sonnet-5',
    stream: true,
    thinking: { type: 'adaptive' },
    cache_control: { type: 'ephemeral' },
    tools: [{ type: 'memory_20250818', name: 'memory' }],
    context_management: { edits: [thinking, clearing] },
  })
  expect(second).toEqual({ ...first, messages: expect.any(Array) })
  expect(third).toMatchObject({
    model: 'claude-haiku-4-5',
    context_management: { edits: [clearing] },
  })
  expect(third).not.toHaveProperty('thinking')
})

test('--json gives one value: the text, the commands with their versions, the usage', async () => {
  const home = await newHomeWithStore()
  const api = await scripted([[text('First'), create], [text('Kept.')]])
  const { stdout, stderr } = await ask(home, api, ['--json', '--session', 'friday'])
  expect(stderr).toBe('')
  expect(JSON.parse(stdout)).toEqual({
    type: 'chat',
    session: 'friday',
    model: 'claude-sonnet-5',
    stop_reason: 'end_turn',
    text: 'First\nKept.\n',
    commands: [
      {
        input: { command: 'create', path: notes, file_text: 'one\ntwo\n' },
        content: `File created successfully at: ${notes}`,
        is_error: false,
        versions: [
          {
            id: expect.stringMatching(/^memver_\w{26}$/),
            operation: 'created',
            path: '/notes.md',
            moved_from: null,
            added_lines: 2,
            removed_lines: 0,
          },
        ],
      },
    ],
    usage: {
      input_tokens: 200,
      output_tokens: 20,
      cache_read_input_tokens: 0,
      cache_creation_input_tokens: 0,
    },
  })
  const { data } = await home.json('log', '--session', 'friday')
  expect(data).toMatchObject([{ created_by: { type: 'session_actor', session_id: 'friday' } }])
})

test('--read-only lets the model read alone', async () => {
  const home = await newHomeWithStore()
  const api = await scripted([[create], [text('I cannot.')]])
  const { stderr } = await ask(home, api, ['--read-only'])
  expect(resultsOf(api.received[1])['new']).toMatchObject({ is_error: true })
  expect(stderr).not.toContain('rollback')
  expect((await home.json('ls'))['data']).toEqual([])
})

test('nothing of a conversation reaches the disk in the clear', { tags: 'slow' }, async () => {
  const home = await newHomeWithStore()
  const api = await scripted([[text('canary-said'), create], [text('canary-said')]])
  await pipe(home, api, [], { input: 'canary-asked' })
  expect(search({ said: 'canary-said', asked: 'canary-asked' }, home.directory)).toEqual([])
})

test('a session that was there before is not shown as what this chat has made', async () => {
  const home = await newHomeWithStore()
  await home.ok('create', 'before.md', '--text', 'x', '--session', 'friday')
  const api = await scripted([[look], [create], [text('Kept.')]])
  const { stdout } = await ask(home, api, ['--json', '--session', 'friday'])
  const { commands } = JSON.parse(stdout)
  const paths = commands.map(({ versions }: { readonly versions: readonly { path: string }[] }) =>
    versions.map(({ path }) => path),
  )
  expect(paths).toEqual([[], ['/notes.md']])
})

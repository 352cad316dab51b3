// The programs of docs/AGENT.md, docs/MEMORY-TOOL.md and README.md in a reader's project, with the
// packed files of gitlocket and one generation of the SDK: type-checked, and run in a separate
// process against a scripted Messages API.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type MemoryStore, openStore, parseIdentity } from '../../src/index.ts'
import {
  memoryCall,
  type MessagesApi,
  resultsOf,
  startMessagesApi,
  text,
} from '../support/messages-api.ts'
import { sample } from '../support/seed.ts'
import { sharedDirectory } from '../support/temporary.ts'
import {
  commandOf,
  type Finished,
  installPackage,
  root,
  run,
  sdks,
  typeErrorsOf,
} from './reader-project.ts'

const notes = '/memories/notes.md'
const inserts = Array.from({ length: 8 }, (_, index) => `insert_${index}`)

/** Three turns of tool calls: one sequential start, one parallel, one with errors. */
const script = [
  [text('I look first.'), memoryCall('look', { command: 'view', path: '/memories' })],
  [
    memoryCall('create', { command: 'create', path: notes, file_text: '# Notes\n' }),
    ...inserts.map((id) =>
      memoryCall(id, { command: 'insert', path: notes, insert_line: 1, insert_text: `${id}\n` }),
    ),
    memoryCall('read', { command: 'view', path: notes }),
  ],
  [
    memoryCall('absent', { command: 'str_replace', path: notes, old_str: 'never', new_str: 'x' }),
    memoryCall('again', { command: 'create', path: notes, file_text: 'lost\n' }),
    memoryCall('edit', { command: 'str_replace', path: notes, old_str: '# Notes', new_str: '# N' }),
    memoryCall('move', { command: 'rename', old_path: notes, new_path: '/memories/kept.md' }),
  ],
  [text('All of it is written down.')],
]
const kept = ['# N', ...inserts.toReversed(), ''].join('\n')

describe.each(sample(sdks, 2))(
  'the programs of the documents with SDK %s',
  { tags: 'slow' },
  (_, sdk) => {
    const project = sharedDirectory()
    let api: MessagesApi
    let finished: Finished

    beforeAll(async () => {
      install(sdk, project)
      api = await startMessagesApi(script)
      finished = await run(project, 'agent.mjs', api)
      return () => api.close()
    })

    test('ends well, and prints the recovery key once, apart from the answers', () => {
      expect(api.refusals).toEqual([])
      expect(finished).toEqual({
        code: 0,
        stdout: 'I look first.\nAll of it is written down.\n',
        stderr: expect.stringMatching(/^Write this recovery key down, .*: GLKR1-[0-9A-Z-]+\n$/),
      })
    })

    test('sends each request with context editing that spares the memory tool', () => {
      expect(api.received).toHaveLength(4)
      for (const { betas, body } of api.received) {
        expect(betas).toContain('context-management-2025-06-27')
        expect(body['context_management']).toEqual({
          edits: [
            expect.objectContaining({ type: 'clear_thinking_20251015' }),
            expect.objectContaining({
              type: 'clear_tool_uses_20250919',
              exclude_tools: ['memory'],
            }),
          ],
        })
      }
      expect(api.received[0]?.body['tools']).toEqual([{ type: 'memory_20250818', name: 'memory' }])
    })

    test('answers each call with the documented text, and flags exactly the errors', () => {
      const results: unknown = Object.assign({}, ...api.received.map(resultsOf))
      const start = 'No replacement was performed'
      const edited = { content: `The file ${notes} has been edited.` }
      expect(results).toEqual({
        look: result({ content: expect.stringMatching(/\n0B\t\/memories$/) }),
        create: result({ content: `File created successfully at: ${notes}` }),
        ...Object.fromEntries(inserts.map((id) => [id, result(edited)])),
        read: result({ content: expect.stringContaining('     9\tinsert_0') }),
        absent: result({
          content: `${start}, old_str \`never\` did not appear verbatim in ${notes}.`,
          is_error: true,
        }),
        again: result({ content: `Error: File ${notes} already exists`, is_error: true }),
        edit: result({ content: expect.stringContaining('     1\t# N') }),
        move: result({ content: `Successfully renamed ${notes} to /memories/kept.md` }),
      })
    })

    test('keeps every edit of three turns, each as a separate commit', async () => {
      const store = await open(project)
      expect((await store.read('/kept.md'))?.content).toBe(kept)
      const { data: versions } = await store.history.versions()
      expect(versions.map((version) => version.operation)).toEqual([
        ...Array.from({ length: 10 }, () => 'modified'),
        'created',
      ])
      const sessions = new Set(versions.map((version) => version.session))
      expect([...sessions]).toEqual([expect.stringMatching(/^chat-[0-9a-f-]{36}$/)])
      expect(new Set(versions.map((version) => version.commit)).size).toBe(11)
      expect((await store.maintenance.verify()).commits).toBe(12)
      await store.close()
    })

    test('remembers in the next run, from the same store', { tags: 'slow' }, async () => {
      const look = memoryCall('look', { command: 'view', path: '/memories/kept.md' })
      const later = await startMessagesApi([[look], [text('I remember.')]])
      onTestFinished(() => later.close())
      const expected = { code: 0, stdout: 'I remember.\n', stderr: '' }
      expect(await run(project, 'agent.mjs', later)).toEqual(expected)
      expect(resultsOf(later.received.at(-1))['look']?.['content']).toContain('     2\tinsert_7')
    })

    test('README: reads the store that `gitlocket init` made', { tags: 'slow' }, async () => {
      const later = await startMessagesApi([
        [memoryCall('look', { command: 'view', path: '/memories' })],
        [text('Nothing yet.')],
      ])
      onTestFinished(() => later.close())
      const commandLine = commandOf(project)
      const initialised = await run(project, commandLine, later, ['init'])
      expect(initialised).toMatchObject({ code: 0, stderr: '' })
      const { code, stdout, stderr } = await run(project, 'remember.mjs', later)
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      expect(stdout).toBe("[ { type: 'text', text: 'Nothing yet.' } ]\n")
    })

    test('docs/MEMORY-TOOL.md: answers in a loop of its own', { tags: 'slow' }, async () => {
      const look = memoryCall('look', { command: 'view', path: '/memories' })
      const later = await startMessagesApi([[look], [text('Nothing yet.')]])
      onTestFinished(() => later.close())
      const commandLine = commandOf(project)
      expect(await run(project, commandLine, later, ['init'])).toMatchObject({ code: 0 })
      expect(await run(project, 'loop.mjs', later)).toEqual({ code: 0, stdout: '', stderr: '' })
      expect(resultsOf(later.received.at(-1))['look']?.['content']).toContain('/memories')
      expect(later.refusals).toEqual([])
    })

    test.each(['agent.mjs', 'remember.mjs'])('%s type-checks', { tags: 'slow' }, (program) => {
      expect(typeErrorsOf(project, program)).toBe('')
    })
  },
)

/** A result as the tool runner sends it, with `fields` and nothing else. */
function result(fields: Readonly<Record<string, unknown>>): unknown {
  return { type: 'tool_result', tool_use_id: expect.any(String), ...fields }
}

/** The package and its SDK, and the programs next to them. */
function install(sdk: string, project: string): void {
  installPackage(sdk, project)
  writeFileSync(join(project, 'agent.mjs'), programOf('docs/AGENT.md', 'agent.mjs'))
  writeFileSync(join(project, 'loop.mjs'), loopOf('docs/MEMORY-TOOL.md'))
  writeFileSync(join(project, 'remember.mjs'), programOf('README.md', 'remember.mjs'))
}

/** The fence after the comment that names the file. */
function programOf(document: string, name: string): string {
  const page = readFileSync(join(root, document), 'utf8')
  const [, after = ''] = page.split(`<!-- ${name} -->\n\n\`\`\`js\n`)
  const end = after.indexOf('```\n')
  return end === -1 ? expect.fail(`${document} holds no ${name}`) : after.slice(0, end)
}

/** The first lines of code in a document, with what they take for given. */
function loopOf(document: string): string {
  const page = readFileSync(join(root, document), 'utf8')
  const [, code] = /^```ts\n(.*?)^```$/ms.exec(page) ?? []
  return `import Anthropic from '@anthropic-ai/sdk'
import { openDefaultStore } from 'gitlocket'
const [store, client] = [await openDefaultStore(), new Anthropic()]
const [model, max_tokens] = ['claude-sonnet-5', 4096]
const messages = [{ role: 'user', content: 'What were we working on?' }]
${code ?? expect.fail(`${document} shows no code`)}
await store.close()
`
}

async function open(project: string): Promise<MemoryStore> {
  const home = join(project, 'home')
  return openStore({
    directory: join(home, 'memory.git'),
    stateDirectory: join(home, 'state'),
    identity: await parseIdentity(readFileSync(join(home, 'identity'), 'utf8')),
  })
}

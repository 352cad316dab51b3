// The conversation that the recipes with a model are run with, and what has to come of it: the
// model writes its memory, is refused twice, and in a second conversation finds what it wrote.

import assert from 'node:assert/strict'
import { memoryToolDescription, memoryToolSchema } from 'gitlocket/anthropic'
import { calls, resultsOf } from './scripted-model.mjs'

const notes = '/memories/notes.md'
const kept = '/memories/kept.md'
/** Longer than the library seals in its own thread, and than a memory may be by default. */
export const longText = `${'all that was said '.repeat(9000)}\n`

export const script = [
  calls('memory', { look: { command: 'view', path: '/memories' } }),
  calls('memory', {
    create: { command: 'create', path: notes, file_text: '# Notes\n' },
    one: { command: 'insert', path: notes, insert_line: 1, insert_text: 'one\n' },
    two: { command: 'insert', path: notes, insert_line: 2, insert_text: 'two\n' },
    long: { command: 'create', path: '/memories/long.md', file_text: longText },
  }),
  calls('memory', {
    again: { command: 'create', path: notes, file_text: 'lost\n' },
    absent: { command: 'str_replace', path: notes, old_str: 'three', new_str: 'x' },
    move: { command: 'rename', old_path: notes, new_path: kept },
  }),
  'All of it is written down.',
  calls('memory', { read: { command: 'view', path: kept } }),
  'One and two.',
]
export const answers = ['All of it is written down.', 'One and two.']

/** What the model has been told, and told about. */
export function checkRequests({ requests, refusals }) {
  assert.deepEqual(refusals, [])
  assert.equal(requests.length, script.length)
  for (const { tools } of requests) {
    const [{ function: told }, ...others] = tools
    assert.deepEqual(others, [])
    assert.deepEqual([told.name, told.description], ['memory', memoryToolDescription])
    assert.deepEqual(told.parameters.properties, memoryToolSchema.properties)
    assert.deepEqual(told.parameters.required, memoryToolSchema.required)
  }
  const [, looked, written, refused, , read] = requests.map(resultsOf)
  assert.match(looked.look, /^Here're the files and directories up to 2 levels deep in \/memories/)
  assert.equal(written.create, `File created successfully at: ${notes}`)
  assert.deepEqual(refused, {
    again: `Error: File ${notes} already exists`,
    absent: `No replacement was performed, old_str \`three\` did not appear verbatim in ${notes}.`,
    move: `Successfully renamed ${notes} to ${kept}`,
  })
  assert.match(read.read, /1\t# Notes\n +2\tone\n +3\ttwo/)
}

/** What the store holds, and whose it is. */
export async function checkStore(store, name = 'chat') {
  const memories = {}
  for await (const { path, content } of store.memories({ view: 'full' })) memories[path] = content
  assert.deepEqual(memories, { '/kept.md': '# Notes\none\ntwo\n', '/long.md': longText })
  const versions = []
  for await (const version of store.history.versions()) versions.push(version)
  const history = versions.toReversed().map(({ operation, path }) => `${operation} ${path}`)
  assert.deepEqual(history, [
    'created /notes.md',
    'modified /notes.md',
    'modified /notes.md',
    'created /long.md',
    'modified /kept.md',
  ])
  const [{ session }] = versions
  assert.match(session, new RegExp(`^${name}-[0-9a-f-]{36}$`))
  for (const { createdBy, session: other } of versions) {
    assert.deepEqual([createdBy, other], [{ type: 'session', id: session }, session])
  }
}

// docs/API.md: its blocks are one program that prints the output shown on the page; it names every
// export.

import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { createStore, generateIdentity } from '../../src/index.ts'
import { author } from '../support/stores.ts'
import { cleanEnvironment, temporaryDirectory } from '../support/temporary.ts'
import { exportsOf } from '../tidy/agreement.ts'
import { sourceFile } from '../tidy/source.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
/** Documents with code of users; the others also name internals. */
const documents = [
  'README.md',
  ...readdirSync(`${root}/docs/recipes`, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md') && !name.includes('node_modules'))
    .map((name) => `docs/recipes/${name}`),
  ...['API', 'AGENT', 'MEMORY-TOOL'].map((name) => `docs/${name}.md`),
]
const page = readFileSync(`${root}/docs/API.md`, 'utf8')
const program = [...page.matchAll(/^```js\n(.*?)^```$/gms)].map(([, block = '']) => block).join('')

test('its blocks print the output shown on the page', { tags: 'slow' }, () => {
  const directory = temporaryDirectory()
  mkdirSync(`${directory}/node_modules`)
  symlinkSync(root, `${directory}/node_modules/gitlocket`)
  writeFileSync(`${directory}/program.mjs`, program)
  const env = { ...cleanEnvironment(directory), TMPDIR: directory }
  const options = { cwd: directory, encoding: 'utf8', env } as const
  const { stdout, stderr } = spawnSync(process.execPath, ['program.mjs'], options)
  const expected = [...program.matchAll(/\/\/ → (.*)$/gm)].map(([, text]) => text)
  expect(stderr).toBe('')
  expect(stdout.trimEnd().split('\n')).toEqual(expected)
  expect(expected.length).toBeGreaterThan(20)
})

const members = {
  MemoryStore: 'memory-store',
  StoreHandle: 'store-handle',
  StoreWriter: 'store-writer',
  ChangeWriter: 'change-writer',
  StoreHistory: 'store-history',
  HistoryReader: 'history-reader',
  StoreDevices: 'store-devices',
  StoreRemotes: 'store-remotes',
  StoreMaintenance: 'store-maintenance',
}

test('names that the documents give exist', async () => {
  const directory = temporaryDirectory()
  const places = { directory: `${directory}/store`, stateDirectory: `${directory}/state` }
  const { store } = await createStore({ ...places, identity: await generateIdentity() })
  const known = { store, me: store.as(author) }
  const mentions = documents.flatMap((path) =>
    [
      ...readFileSync(`${root}/${path}`, 'utf8').matchAll(
        /\b(?:store|me)(?:\.[a-z]\w*)+(?=[(`])/gi,
      ),
    ].map(([mention]) => mention),
  )
  const missing = mentions.filter((mention) => {
    let found: unknown = known
    for (const name of mention.split('.')) found = Reflect.get(Object(found), name)
    return found === undefined
  })
  await store.close()
  expect(missing).toEqual([])
  expect(mentions.length).toBeGreaterThan(30)
})

describe('it names', () => {
  test.each(['index', 'anthropic/memory-tool', 'mcp/mcp', 'server/server', 'web/web'])(
    'each export of %s',
    (file) => {
      const { bare } = sourceFile(file, readFileSync(`${root}/src/${file}.ts`, 'utf8'))
      const missing = exportsOf(bare).filter((name) => !new RegExp(`\\b${name}\\b`).test(page))
      expect(missing).toEqual([])
    },
  )

  test.each(Object.entries(members))('each member of %s', (_, file) => {
    const source = readFileSync(`${root}/src/store/${file}.ts`, 'utf8')
    // Internal members are not in the declarations either.
    const text = source.replaceAll(/\/\*\* @internal [^\n]*\n {2}(?:async )?\w+/g, '')
    const found = [...text.matchAll(/^ {2}(?:async |get )?([a-z]\w+)[(<]/gm)].map(
      ([, name]) => name,
    )
    const missing = found.filter((name) => name !== 'constructor' && !page.includes(`.${name}`))
    expect(found.length).toBeGreaterThan(0)
    expect(missing).toEqual([])
  })
})

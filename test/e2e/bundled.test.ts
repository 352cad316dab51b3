// The library bundled into one file: there are no worker modules next to it, so all work is done in
// one thread. Also the library loaded by `require`.

import { execFileSync } from 'node:child_process'
import { readdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build, type Format } from 'esbuild'
import { describe, expect, test } from 'vitest'
import { leastStretch } from '../support/stores.ts'
import { temporaryDirectory } from '../support/temporary.ts'

const library = fileURLToPath(new URL('../../dist', import.meta.url))

/** Needs every kind of worker: a passphrase, a large memory, packs, and a history to verify. */
const program = `
const size = 700_000
async function main(directory) {
  const identity = await parseIdentity(formatIdentity(await generateIdentity()))
  const place = { directory: directory + '/store', stateDirectory: directory + '/state', identity }
  const limits = { contentBytes: size }
  const options = { passphrase: 'correct horse battery', stretch: ${JSON.stringify(leastStretch)} }
  const { store } = await createStore({ ...place, ...options, limits })
  const me = store.as({ actor: { type: 'user', id: 'bundle' } })
  await me.write('/large', 'x'.repeat(size))
  const { create } = memoryToolHandlers(store, { session: 'bundle' })
  await create({ command: 'create', path: '/memories/a', file_text: 'zero\\nwords\\none' })
  await store.maintenance.compact()
  const { commits } = await store.maintenance.verify({ threads: 2 })
  await store.close()
  const other = await openStore({
    ...place,
    identity: await generateIdentity(),
    passphrase: 'correct horse battery',
    stateDirectory: directory + '/other',
  })
  const found = []
  for await (const { path, sizeBytes } of other.memories()) found.push([path, sizeBytes])
  const search = async (query) => {
    const { data } = await other.search({ query, regex: true })
    return data.map(({ memory, line, score }) => [memory.path, line, score])
  }
  const hits = [await search('^ONE$|^w.'), await search('^/a$'), await search('b')]
  const slow = await search('^(?:[x]+)+y').catch(({ message }) => message)
  await other.close()
  return { commits, found, hits, slow }
}
main(process.argv[2]).then((answer) => console.log(JSON.stringify(answer)))
`
const expected = {
  commits: 3,
  found: [
    ['/a', 14],
    ['/large', 700_000],
  ],
  hits: [[['/a', 2, 2]], [['/a', null, 1]], []],
  slow: expect.stringMatching(/^The regular expression (?:takes too long|is too large)/),
}
const names = 'createStore, formatIdentity, generateIdentity, openStore, parseIdentity'

function answerOf(file: string, directory: string): unknown {
  return JSON.parse(execFileSync(process.execPath, [file, directory], { encoding: 'utf8' }))
}

describe.each<[Format, string]>([
  ['esm', 'mjs'],
  ['cjs', 'cjs'],
])('a bundle in the format %s', (format, extension) => {
  test.each([
    ['as it is', false],
    ['minified', true],
  ])('does all work in one thread, %s', { tags: 'slow' }, async (_, minify) => {
    const directory = temporaryDirectory()
    const outfile = `${directory}/server.${extension}`
    await build({
      bundle: true,
      minify,
      platform: 'node',
      format,
      outfile,
      logLevel: 'silent',
      external: ['@anthropic-ai/sdk'],
      stdin: {
        contents:
          `import { ${names} } from './index.js'\n` +
          `import { memoryToolHandlers } from './anthropic/memory-tool.js'\n${program}`,
        resolveDir: library,
      },
    })
    expect(readdirSync(directory)).toEqual([`server.${extension}`])
    expect(answerOf(outfile, directory)).toEqual(expected)
  })
})

test('require loads the library', { tags: 'slow' }, () => {
  const directory = temporaryDirectory()
  const file = `${directory}/program.cjs`
  const loaded = (path: string): string => `require(${JSON.stringify(`${library}/${path}`)})`
  const text =
    `const { ${names} } = ${loaded('index.js')}
` +
    `const { memoryToolHandlers } = ${loaded('anthropic/memory-tool.js')}
`
  writeFileSync(file, text + program)
  expect(answerOf(file, directory)).toEqual(expected)
})

// Workers are compiled modules, wherever the caller runs; most bundles have no such files. They run
// whatever options Node was started with.

import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { execPath } from 'node:process'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { findWorker, JobThread } from '../../src/worker-threads.ts'
import { temporaryDirectory } from '../support/temporary.ts'

test.each([
  ['a/dist/crypto/passphrase.js', 'a/dist/crypto/w.js'],
  ['a/src/crypto/passphrase.ts', 'a/dist/crypto/w.js'],
  ['a/dist/command/verifying.cjs', 'a/dist/command/w.cjs'],
  ['src/a/src/crypto/passphrase.ts', 'src/a/dist/crypto/w.js'],
  ['src/node_modules/gitlocket/dist/git/b.js', 'src/node_modules/gitlocket/dist/git/w.js'],
])('the worker of %s is %s', (caller, expected) => {
  const root = `${temporaryDirectory()}/`
  const address = (path: string): string => new URL(path, pathToFileURL(root)).href
  expect(findWorker(address(caller), 'w')).toBeUndefined()
  mkdirSync(root + expected.replace(/[^/]*$/, ''), { recursive: true })
  writeFileSync(root + expected, '')
  expect(findWorker(address(caller), 'w')?.href).toBe(address(expected))
})

test.each([undefined, 'https://host.example/bundle.js', 'webpack://bundle.js'])(
  'no worker is found next to %s',
  (moduleUrl) => {
    expect(findWorker(moduleUrl, 'w')).toBeUndefined()
  },
)

test('the jobs of a thread that dies are refused, and later ones too', async () => {
  const source = "require('node:worker_threads').parentPort.once('message', () => process.exit())"
  const thread = new JobThread<number, number>(source, { eval: true })
  const refused = { code: 'storage_failed' }
  const both = [1, 2].map((job) => expect(thread.run(job)).rejects.toMatchObject(refused))
  await Promise.all(both)
  await expect(thread.run(3)).rejects.toMatchObject(refused)
  expect(thread.isEnded).toBe(true)
})

test('a cancelled job that does not end takes its thread with it', async () => {
  const source = "require('node:worker_threads').parentPort.once('message', () => { for (;;); })"
  const thread = new JobThread<number, number>(source, { eval: true })
  const signal = AbortSignal.timeout(20)
  const work = thread.run(1, { signal, cancelMs: 10 })
  await expect(work).rejects.toMatchObject({ code: 'cancelled' })
  expect(thread.isEnded).toBe(true)
})

const library = new URL('../../dist/index.js', import.meta.url).href

const everyThread = `
import { createStore, generateIdentity } from '${library}'
const [directory] = process.argv.slice(1)
const { store } = await createStore({
  directory: directory + '/store',
  stateDirectory: directory + '/state',
  identity: await generateIdentity(),
  passphrase: 'a passphrase of the test',
})
const me = store.as({ actor: { type: 'user', id: 'test' } })
await Promise.all(Array.from({ length: 120 }, (_, n) => me.write('/' + (n % 60), 'text ' + n)))
const report = await store.maintenance.compact()
await store.maintenance.verify()
const found = await store.search({ query: '^text 11[0-9]$', regex: true })
console.log(found.data.length)
await store.close()
`

test('threads start in a program that is an argument of node', { tags: 'slow' }, async () => {
  const words = ['--input-type=module', '--eval', everyThread, temporaryDirectory()]
  const { stdout } = await promisify(execFile)(execPath, words)
  expect(stdout).toBe('10\n')
})

// The index of an open store follows the writes and redactions of another process.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { formatIdentity, type MemoryStore } from '../../../../src/index.ts'
import { author, newStore, type TestPlace } from '../../../support/stores.ts'

const programOf = (name: string): string =>
  fileURLToPath(new URL(`../../../support/${name}`, import.meta.url))

function start(place: TestPlace, name: string, [mode = [], ...rest]: readonly string[][]) {
  const { directory, stateDirectory, identity } = place
  const identityFile = `${directory}.identity`
  writeFileSync(identityFile, formatIdentity(identity), { mode: 0o600 })
  const args = [programOf(name), ...mode, directory, stateDirectory, identityFile, ...rest.flat()]
  return spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] })
}

/** Searches until the process has ended; every answer has to be right for some moment. */
async function searchMeanwhile(
  store: MemoryStore,
  child: ChildProcess,
  check: (paths: readonly string[]) => void,
): Promise<void> {
  const state = { exited: false }
  const exit = once(child, 'exit').then(([code]) => {
    state.exited = true
    return code
  })
  while (!state.exited) {
    const { data } = await store.search({ query: 'wrote', limit: 100 })
    check(data.map(({ memory }) => memory.path))
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  expect(await exit).toBe(0)
}

test('another process writes, and then redacts', { tags: 'slow' }, async () => {
  const { store, place } = await newStore()
  await store.search({ query: 'x' })
  const count = 40
  let most = 0
  const writer = start(place, 'store-writer.mjs', [[], ['them', String(count)]])
  await searchMeanwhile(store, writer, (paths) => {
    expect(paths.length).toBeGreaterThanOrEqual(most)
    most = paths.length
  })
  const all = await store.search({ query: 'wrote', limit: 100 })
  expect(all.data).toHaveLength(count)
  const secret = all.data.filter(({ memory }) => /[05]\.md$/.test(memory.path))
  for (const { memory } of secret) await store.as(author).write(memory.path, 'nothing\n')
  const ids = secret.map(({ memory }) => memory.versionId)
  expect((await store.search({ query: 'wrote', allVersions: true, limit: 100 })).data).toHaveLength(
    count,
  )
  const redactor = start(place, 'redaction-process.mjs', [['redact'], ['them', ...ids]])
  await searchMeanwhile(store, redactor, (paths) => {
    expect(paths).toHaveLength(count - ids.length)
  })
  const left = await store.search({ query: 'wrote', allVersions: true, limit: 100 })
  expect(left.data).toHaveLength(count - ids.length)
  expect((await store.maintenance.findResidue()).found).toEqual([])
  await store.close()
})

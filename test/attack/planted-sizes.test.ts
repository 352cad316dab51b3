// T39: a sparse file takes no room on the disk, and all of it in RAM once it is read. Planted in
// place of a file of a store, it is refused by its size.

import { cpSync, existsSync, mkdirSync, readdirSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { createStore, generateIdentity, type Identity, openStore } from '../../src/index.ts'
import { MEBIBYTE } from '../../src/limits.ts'
import { author } from '../support/stores.ts'
import { sharedDirectory } from '../support/temporary.ts'
import { verdictOf } from '../support/verdict.ts'

const folder = sharedDirectory()
let identity: Identity
let count = 0

beforeAll(async () => {
  identity = await generateIdentity()
  const { store } = await createStore({ ...placeOf('good'), identity })
  await store.as(author).write('/a.md', 'one')
  await store.history.versions()
  await store.close()
})

function placeOf(name: string) {
  return { directory: join(folder, name, 'store'), stateDirectory: join(folder, name, 'state') }
}

/** A copy in which the file whose path ends so is of three gigabytes, nearly all of them holes. */
function planted(end: string) {
  count += 1
  const at = placeOf(`copy ${count}`)
  cpSync(join(folder, 'good'), dirname(at.directory), { recursive: true })
  const files = readdirSync(dirname(at.directory), { recursive: true, encoding: 'utf8' })
  const found = files.find((file) => file.endsWith(end)) ?? `store/${end}`
  const file = join(dirname(at.directory), found)
  mkdirSync(dirname(file), { recursive: true })
  if (!existsSync(file)) writeFileSync(file, '')
  truncateSync(file, 3072 * MEBIBYTE)
  return at
}

describe('T39: a file of gigabytes is not read, in place of', () => {
  test.each([
    ['HEAD', 'storage_failed'],
    ['store/config', 'storage_failed'],
    ['refs/heads/main', 'storage_failed'],
    // What it holds is read from git again.
    ['/state', 'accepted'],
    ['.anchor', 'anchor_corrupt'],
    ['gitlocket/journal-a', 'journal_corrupt'],
  ])('%s', async (end, code) => {
    expect(await verdictOf(() => openStore({ ...planted(end), identity }))).toBe(code)
  })
})

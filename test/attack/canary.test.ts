// T1: an attacker who reads the repository, the state directory, a temporary file or an error
// message, at any moment, finds no text, path, reason, actor, session, name of a store or a device,
// passphrase or identity. FORMAT §0 (1), §11.

import { readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { utf8 } from '../../src/bytes.ts'
import { sha256 } from '../../src/crypto/digest.ts'
import { StoreError } from '../../src/errors.ts'
import { formatIdentity, generateIdentity } from '../../src/keys/identity.ts'
import { createStore } from '../../src/store/create.ts'
import type { MemoryStore } from '../../src/store/memory-store.ts'
import { openStore } from '../../src/store/open.ts'
import { filesBelow, findIn, search } from '../support/canaries.ts'
import { countingRandom } from '../support/forge-seal.ts'
import { leastStretch } from '../support/stores.ts'
import { gitBytes, sharedDirectory } from '../support/temporary.ts'

/** One canary for each kind of secret, so that a match shows what leaked. */
const named: Readonly<Record<string, string>> = Object.fromEntries(
  [
    'content',
    'edit',
    'path',
    'directory',
    'reason',
    'actor',
    'session',
    'name',
    'description',
    'key',
    'value',
    'passphrase',
    'changed',
    'device',
    'refused',
  ].map((what) => [what, `Canary-${what}-Xq7vT2`]),
)
const identity = await generateIdentity(countingRandom('canary'))
const canaries = {
  ...named,
  identity: formatIdentity(identity).split('\n')[1]?.slice(21, 61) ?? '',
}
const { content = '', edit = '', path = '', directory = '', reason = '' } = named
const { actor = '', session = '', passphrase = '', changed = '', device = '' } = named
const { name: storeName = '', description = '', key = '', value = '', refused = '' } = named
const author = { actor: { type: 'user', id: actor }, session, reason } as const

const root = sharedDirectory()
const places = { directory: join(root, 'store'), stateDirectory: join(root, 'state') }
let found: Record<string, readonly string[]>

beforeAll(async () => {
  const before = temporaryFiles()
  const { store } = await createStore({
    ...places,
    identity,
    name: storeName,
    deviceName: device,
    passphrase,
    stretch: leastStretch,
    actor: author.actor,
  })
  await work(store)
  const journal = search(canaries, root)
  await store.maintenance.checkpoint()
  const checkpointed = search(canaries, root)
  await fillHistory(store)
  await store.close()
  const closed = search(canaries, root)
  const again = await openStore({ ...places, identity })
  await again.read(`/${directory}/${path}.md`)
  await again.history.versions({ path: `/${directory}` })
  const reopened = search(canaries, root)
  await again.close()
  const temporary = temporaryFiles()
    .filter((name) => !before.includes(name))
    .flatMap((name) => search(canaries, join(tmpdir(), name)))
  found = { journal, checkpointed, closed, reopened, temporary, objects: searchObjects() }
})

async function work(store: MemoryStore): Promise<void> {
  const at = `/${directory}/${path}.md`
  await store.as(author).apply([{ type: 'create', path: at, content: `${content}\n`.repeat(50) }])
  await store.as(author).apply([{ type: 'edit', path: at, edit: (text) => `${text}${edit}\n` }])
  await store.as(author).apply([{ type: 'rename', path: at, to: `/${directory}/moved/${path}.md` }])
  await store.as(author).apply([{ type: 'create', path: at, content }])
  await store.as(author).apply([{ type: 'delete', path: `/${directory}/moved` }])
  await store
    .as(author)
    .settings.update({ name: `${storeName} 2`, description, metadata: { [key]: value } })
  await store.as(author).keys.changePassphrase(changed)
  const nul = { type: 'create', path: `/${refused}`, content: `${refused}\0` } as const
  expect((await caught(() => store.as(author).apply([nul])))?.code).toBe('invalid_input')
}

/** Enough commits that the caches of the history are written too. */
async function fillHistory(store: MemoryStore): Promise<void> {
  const at = `/${directory}/${path}.md`
  const edits = Array.from({ length: 300 }, (_, index) =>
    store.as(author).apply([{ type: 'edit', path: at, edit: (text) => `${text}${index}` }]),
  )
  await Promise.all(edits)
  await store.history.versions({ path: at })
}

test('T1: the search finds planted values', () => {
  expect(findIn(canaries, utf8(`x${content}y`))).toHaveLength(1)
  expect(findIn(canaries, Buffer.from(path, 'utf16le'))).toHaveLength(1)
  for (const prefix of ['', 'x', 'xx']) {
    expect(
      findIn(canaries, utf8(Buffer.from(`${prefix}${session}`).toString('base64'))),
    ).toHaveLength(1)
  }
  expect(findIn(canaries, utf8(Buffer.from(reason).toString('hex')))).toHaveLength(1)
  expect(findIn(canaries, sha256(utf8(content)))).toHaveLength(1)
})

test.each(['journal', 'checkpointed', 'closed', 'reopened', 'temporary', 'objects'])(
  'T1: nothing is found: %s',
  (moment) => {
    expect(found[moment]).toEqual([])
  },
)

test('T1: caches and packs were there to be searched', () => {
  const names = filesBelow(root).map((name) => name.slice(root.length))
  expect(names.filter((name) => name.includes('/cache/')).length).toBeGreaterThan(1)
  expect(names.filter((name) => name.endsWith('.pack'))).not.toEqual([])
  expect(names.filter((name) => name.endsWith('.anchor'))).toHaveLength(1)
})

describe('T1: the message of an error repeats nothing', () => {
  const at = `/${directory}/${path}.md`
  test.each<[code: string, name: string, act: (store: MemoryStore) => Promise<unknown>]>([
    [
      'path_conflict',
      'create at a path that is taken',
      (s) => s.as(author).apply([{ type: 'create', path: at, content }]),
    ],
    [
      'path_conflict',
      'create below a memory',
      (s) => s.as(author).apply([{ type: 'create', path: `${at}/x`, content }]),
    ],
    [
      'not_found',
      'delete what is not there',
      (s) => s.as(author).apply([{ type: 'delete', path: `/${path}` }]),
    ],
    [
      'invalid_path',
      'a path with two dots',
      (s) => s.as(author).apply([{ type: 'create', path: `/${path}/../x`, content }]),
    ],
    [
      'invalid_input',
      'a text with NUL',
      (s) => s.as(author).apply([{ type: 'create', path: '/x', content: `${content}\0` }]),
    ],
    [
      'content_too_large',
      'a text that is too large',
      (s) => s.as(author).apply([{ type: 'create', path: '/x', content: content.repeat(9000) }]),
    ],
    [
      'invalid_input',
      'an actor with a space',
      async (s) =>
        s.as({ actor: { type: 'user', id: `${actor} x` } }).apply([{ type: 'delete', path: at }]),
    ],
    [
      'invalid_input',
      'a reason with NUL',
      async (s) => s.as({ ...author, reason: `${reason}\0` }).apply([{ type: 'delete', path: at }]),
    ],
    [
      'invalid_input',
      'a name that is too long',
      (s) => s.as(author).settings.update({ name: content.repeat(50) }),
    ],
    ['invalid_input', 'a cursor that is none', (s) => s.history.versions({ page: content })],
    ['invalid_input', 'a version id that is none', (s) => s.history.version(content)],
  ])('%s: %s', async (code, _, act) => {
    const store = await openStore({ ...places, identity })
    const error = await caught(() => act(store))
    await store.close()
    expect(error?.code).toBe(code)
    expect(findIn(canaries, utf8(textOf(error)))).toEqual([])
  })

  test('wrong_key: the passphrase and the path of the store', { tags: 'slow' }, async () => {
    const stranger = await generateIdentity(countingRandom('stranger'))
    const wrong = { ...places, identity: stranger, passphrase: `${passphrase}x` }
    const error = await caught(() => openStore(wrong))
    expect(error?.code).toBe('wrong_key')
    expect(findIn(canaries, utf8(textOf(error)))).toEqual([])
    expect(error?.message).not.toContain(root)
  })
})

async function caught(act: () => Promise<unknown>): Promise<StoreError | undefined> {
  try {
    await act()
    return undefined
  } catch (error) {
    if (error instanceof StoreError) return error
    throw error
  }
}

/** The messages of an error and its causes; the stack only names files of the code. */
function textOf(error: unknown): string {
  return error instanceof Error ? `${error.message}\n${textOf(error.cause)}` : String(error)
}

/** The canaries in every object, as git reads them. */
function searchObjects(): readonly string[] {
  const all = gitBytes(['cat-file', '--batch-all-objects', '--batch'], places.directory)
  expect(all.length).toBeGreaterThan(100_000)
  return findIn(canaries, all)
}

/** Other tests have directories of their own there. */
function temporaryFiles(): readonly string[] {
  return readdirSync(tmpdir()).filter((name) => !name.startsWith('gitlocket-test-'))
}

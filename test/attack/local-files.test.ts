// T17: another user of the machine, or a thief of its disk without the identity, can read nothing
// of a device's local state, and gains nothing by writing it: a foreign cache is ignored. FORMAT
// §3.1, §4.

import {
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { deriveKey } from '../../src/crypto/digest.ts'
import { cacheContext, openEnvelope } from '../../src/format/envelope.ts'
import { parseId } from '../../src/format/id.ts'
import { generateIdentity, type Identity } from '../../src/keys/identity.ts'
import { createStore } from '../../src/store/create.ts'
import { openStore } from '../../src/store/open.ts'
import { countingRandom, flipBit } from '../support/forge-seal.ts'
import { sample } from '../support/seed.ts'
import { copyDirectory, sharedDirectory, temporaryDirectory } from '../support/temporary.ts'
import { verdictOf } from '../support/verdict.ts'

const author = { actor: { type: 'user', id: 'me' } } as const

interface Site {
  readonly directory: string
  readonly stateDirectory: string
  readonly identity: Identity
}

const origin = sharedDirectory()
let made: {
  readonly site: Site
  readonly older: string
  readonly storeId: string
  readonly other: Site
}
beforeAll(async () => {
  made = await makeStores()
})

/** A store with some 300 commits, its caches as they were earlier, and another store. */
async function makeStores(): Promise<typeof made> {
  const site = await siteIn(join(origin, 'one'), 'one')
  const { store } = await createStore(site)
  await fill(store, 0, 290)
  const storeId = parseId('store', store.id)
  await store.history.versions()
  await store.close()
  const older = join(origin, 'older')
  copyDirectory(cacheDirectory(site), older)
  const again = await openStore(site)
  await fill(again, 290, 300)
  await again.close()
  const other = await siteIn(join(origin, 'other'), 'other')
  const { store: foreign } = await createStore(other)
  await fill(foreign, 0, 290)
  await foreign.history.versions()
  await foreign.close()
  return { site, older, storeId, other }
}

async function siteIn(root: string, name: string): Promise<Site> {
  const identity = await generateIdentity(countingRandom(name))
  return { directory: join(root, 'store'), stateDirectory: join(root, 'state'), identity }
}

async function fill(
  store: Awaited<ReturnType<typeof openStore>>,
  from: number,
  to: number,
): Promise<void> {
  const writes: Promise<unknown>[] = []
  for (let index = from; index < to; index += 1) {
    writes.push(
      store.as(author).apply([{ type: 'create', path: `/${index}.md`, content: `${index}` }]),
    )
  }
  await Promise.all(writes)
}

/** A copy, to spoil. */
function copied(): Site {
  const root = temporaryDirectory()
  copyDirectory(join(origin, 'one'), root)
  const { identity } = made.site
  return { directory: join(root, 'store'), stateDirectory: join(root, 'state'), identity }
}

function cacheDirectory({ directory }: Site): string {
  const [device = ''] = readdirSync(join(directory, 'gitlocket/cache'))
  return join(directory, 'gitlocket/cache', device)
}

/** What a caller sees: live memories, versions, and whether the whole verifies. */
async function seen(site: Site): Promise<unknown> {
  const store = await openStore(site)
  const listing = await store.list('/')
  const { data: versions } = await store.history.versions({ limit: 1000 })
  const { commits } = await store.maintenance.verify()
  await store.close()
  return [listing?.children.length, versions.length, commits]
}

const whole = [300, 300, 301]

describe('T17: a wrong cache changes nothing', () => {
  const spoilings: readonly (readonly [string, (site: Site, file: string) => void])[] = [
    ['one bit changed', (_, file) => writeFileSync(file, flipBit(8 * 200)(readFileSync(file)))],
    ['cut off', (_, file) => writeFileSync(file, readFileSync(file).subarray(0, 300))],
    ['empty', (_, file) => writeFileSync(file, '')],
    ['gone', (_, file) => rmSync(file)],
    ["another store's", (_, file) => writeFileSync(file, theirs(file))],
    ['an older one', (_, file) => putOlder(file)],
    ['one of another kind', (site, file) => writeFileSync(file, readFileSync(sibling(site, file)))],
  ]
  test.each(sample(spoilings, 2))('%s', { tags: 'slow' }, async (_, spoil) => {
    for (const name of readdirSync(cacheDirectory(made.site))) {
      const site = copied()
      spoil(site, join(cacheDirectory(site), name))
      expect(await seen(site)).toEqual(whole)
    }
  })

  test('all missing', { tags: 'slow' }, async () => {
    const site = copied()
    rmSync(join(site.directory, 'gitlocket'), { recursive: true })
    expect(await seen(site)).toEqual(whole)
  })
})

function theirs(file: string): Uint8Array {
  const name = file.slice(file.lastIndexOf('/') + 1)
  return readFileSync(join(cacheDirectory(made.other), name))
}

function putOlder(file: string): void {
  const old = join(made.older, file.slice(file.lastIndexOf('/') + 1))
  if (existsSync(old)) cpSync(old, file)
}

function sibling(site: Site, file: string): string {
  const names = readdirSync(cacheDirectory(site)).map((name) => join(cacheDirectory(site), name))
  return names.find((name) => name !== file) ?? file
}

describe('T17: the files that a device keeps for itself', () => {
  test(
    'opens with its own local secret for its own place, and no other',
    { tags: 'slow' },
    async () => {
      const { site, storeId, other } = made
      // Its first part, after the length of that.
      const file = readFileSync(join(cacheDirectory(site), 'state'))
      const bytes = file.subarray(4, 4 + file.readUInt32BE(0))
      const open = (identity: Identity, role: number, generation = 0) => {
        const keys = {
          kid: '00'.repeat(16),
          key: deriveKey(identity.localSecret, 1, 'GLK1keys'),
          saltKey: deriveKey(identity.localSecret, 4, 'GLK1keys'),
        }
        const context = cacheContext(storeId, site.identity.deviceId, role, generation)
        return verdictOf(() => openEnvelope('cache', keys, context, bytes))
      }
      const verdicts = [
        await open(site.identity, 1),
        await open(other.identity, 1),
        await open(site.identity, 2),
        await open(site.identity, 1, 1),
      ]
      const refused = 'envelope_commitment'
      expect(verdicts).toEqual(['accepted', refused, refused, refused])
    },
  )

  test('can be read and written by its owner only', { tags: 'slow' }, () => {
    const modes = new Set<string>()
    for (const root of [made.site.directory, made.site.stateDirectory]) walk(root, modes)
    expect([...modes].toSorted()).toEqual(['directory 700', 'file 600'])
  })
})

function walk(at: string, modes: Set<string>): void {
  const status = statSync(at)
  const kind = status.isDirectory() ? 'directory' : 'file'
  modes.add(`${kind} ${(status.mode & 0o777).toString(8)}`)
  if (kind === 'directory') for (const name of readdirSync(at)) walk(join(at, name), modes)
}

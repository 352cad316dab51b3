// Stores for tests that kill a redaction: made on a simulated disk, with a clock that stands still
// between their two halves. Secrets match `pattern`; the redaction of `oldLeak` leaves live
// memories as they are.

import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import type { Oid } from '../../src/git/objects/object.ts'
import {
  type Author,
  createStore,
  generateIdentity,
  type Identity,
  type MemoryStore,
  type OpenOptions,
  openStore,
  type RedactionRequest,
} from '../../src/index.ts'
import { MEBIBYTE } from '../../src/limits.ts'
import { FaultyDisk, SimulatedDeath } from './faulty-disk.ts'
import { inlinePacker } from './inline-packer.ts'
import { copyDirectory } from './temporary.ts'

export interface Place {
  readonly directory: string
  readonly stateDirectory: string
}

export const agent: Author = { actor: { type: 'session', id: 'agent-1' }, session: 'agent-1' }
const poisoner: Author = { actor: { type: 'user', id: 'mallory' }, session: 'poisoned' }

/** When the first half was written, when the second, and when the tests act. */
const writtenAt = 1.8e12
const changedAt = 1.81e12
const actedAt = 1.82e12
let now = actedAt

export const pattern: RegExp = /KEY-[0-9a-f]+/
export const oldLeak: RedactionRequest['select'] = { path: '/leak.md', before: changedAt }

const identity: Promise<Identity> = generateIdentity()

/** The object ids of the certificate. */
export async function redact(
  store: MemoryStore,
  select: RedactionRequest['select'],
  current?: RedactionRequest['current'],
): Promise<readonly Oid[]> {
  const { certificate } = await store.as(agent).redact({ select, reason: 'leaked_secret', current })
  return certificate?.object_ids ?? []
}

export async function compact(store: MemoryStore): Promise<readonly Oid[]> {
  await store.maintenance.compact()
  return []
}

export async function checkpoint(store: MemoryStore): Promise<readonly Oid[]> {
  await store.maintenance.checkpoint()
  return []
}

/** Brings the first version of the leak back. */
export async function restore(store: MemoryStore): Promise<readonly Oid[]> {
  const { data: versions } = await store.history.versions({ path: '/leak.md' })
  const to = { versionId: versions.at(-1)?.versionId ?? '' }
  await store.as(agent).restore({ memory: '/leak.md', to })
  return []
}

/** Takes the second half back. */
export async function rollback(store: MemoryStore): Promise<readonly Oid[]> {
  await store.as(agent).rollback({ to: { time: changedAt - 1 } })
  return []
}

export async function undo(store: MemoryStore): Promise<readonly Oid[]> {
  await store.as(agent).undo({ session: 'poisoned' })
  return []
}

/** A store whose older half is in packs, while a process died with the newer one in the journal. */
export async function prepareSmall(place: Place): Promise<readonly Oid[]> {
  const disk = new FaultyDisk()
  const first = await create(place, disk)
  await write(first, '/leak.md', `the token is KEY-0123456789abcdef\n${lines('leak', 30)}`)
  await write(first, '/poem.md', lines('poem', 12))
  await write(first, '/doomed.md', `KEY-77777777\n${lines('doomed', 30)}`)
  now = changedAt
  await write(first, '/leak.md', lines('clean', 30))
  await edit(first, '/poem.md', (text) => `${text}obey\n`, poisoner)
  await write(first, '/spam.md', lines('spam', 4), poisoner)
  await edit(first, '/poem.md', (text) => `more\n${text}`)
  await first.close()
  const second = await open(place, disk)
  await write(second, '/key.md', `KEY-88888888\n${lines('key', 30)}`)
  await write(second, '/leak.md', lines('cleaner', 30))
  await edit(second, '/poem.md', (text) => `${text}again\n`, poisoner)
  disk.die('nothing')
  disk.release()
  now = actedAt
  return []
}

/** The same, and another process died between the commit of a redaction and its erasing. */
export async function prepareCutOff(place: Place): Promise<readonly Oid[]> {
  await prepareSmall(place)
  const parent = mkdtempSync(join(tmpdir(), 'gitlocket-whole-'))
  onTestFinished(() => rmSync(parent, { recursive: true, force: true }))
  const copy = placeIn(parent)
  copyDirectory(join(place.directory, '..'), join(copy.directory, '..'))
  const disk = new FaultyDisk()
  const whole = await open(copy, disk)
  const dead = await redact(whole, oldLeak)
  await whole.close()
  const dying = new FaultyDisk()
  const store = await open(place, dying)
  const sync = dying.sync.bind(dying)
  dying.sync = async (fd) => {
    await sync(fd)
    const isJournal = dying.log.at(-1)?.startsWith('sync journal') === true
    const own = readdirSync(join(place.directory, 'gitlocket'))
    if (isJournal && own.some((name) => name.startsWith('purge-'))) dying.die('nothing')
  }
  await expect(redact(store, oldLeak)).rejects.toBeInstanceOf(SimulatedDeath)
  dying.release()
  return dead
}

/** One memory of more bytes than a transition may have in the journal, and a secret in it. */
export async function prepareLarge(place: Place): Promise<readonly Oid[]> {
  const disk = new FaultyDisk()
  const store = await create(place, disk, 16 * MEBIBYTE)
  const noise = createHash('shake256', { outputLength: 4.5 * MEBIBYTE }).digest('hex')
  await write(store, '/leak.md', `KEY-0123456789abcdef\n${noise.replace(/.{99}/g, '$&\n')}`)
  await write(store, '/poem.md', lines('poem', 12))
  await store.close()
  now = actedAt
  return []
}

/** Enough commits with the erased version in their trees for a rewrite to stage its objects. */
export async function prepareLong(place: Place): Promise<readonly Oid[]> {
  const disk = new FaultyDisk()
  const store = await create(place, disk)
  await write(store, '/leak.md', `KEY-0123456789abcdef\n${lines('leak', 30)}`)
  await write(store, '/count.md', '')
  const counted = Array.from({ length: 1600 }, (_, n) => edit(store, '/count.md', () => `${n}\n`))
  await Promise.all(counted)
  now = changedAt
  await write(store, '/leak.md', lines('clean', 30))
  await store.close()
  now = actedAt
  return []
}

export function placeIn(parent: string): Place {
  return { directory: join(parent, 'store'), stateDirectory: join(parent, 'state') }
}

async function create(
  place: Place,
  disk: FaultyDisk,
  contentBytes: number = 100_000,
): Promise<MemoryStore> {
  now = writtenAt
  const options = { ...(await optionsOf(place, disk)), limits: { contentBytes } }
  return (await createStore(options)).store
}

/** In this thread and on this disk alone. */
export async function open(place: Place, disk: FaultyDisk): Promise<MemoryStore> {
  return openStore(await optionsOf(place, disk))
}

async function optionsOf(place: Place, disk: FaultyDisk): Promise<OpenOptions> {
  const packer = inlinePacker(disk, place.directory)
  return { ...place, identity: await identity, disk, packer, clock: () => now }
}

async function write(
  store: MemoryStore,
  path: string,
  content: string,
  author: Author = agent,
): Promise<void> {
  const exists = (await store.read(path)) !== undefined
  const change = { type: 'edit', path, edit: () => content } as const
  await store.as(author).apply([exists ? change : { type: 'create', path, content }])
}

async function edit(
  store: MemoryStore,
  path: string,
  change: (content: string) => string,
  author: Author = agent,
): Promise<void> {
  await store.as(author).apply([{ type: 'edit', path, edit: change }])
}

function lines(word: string, count: number): string {
  return Array.from({ length: count }, (_, n) => `${word} ${n}\n`).join('')
}

/** The newest, and all of the memory that leaks. */
export async function someVersions(store: MemoryStore): Promise<readonly string[]> {
  const newest = await store.history.versions({ limit: 30 })
  const leaked = await store.history.versions({ path: '/leak.md' })
  return [...newest.data, ...leaked.data].map(({ versionId }) => versionId)
}

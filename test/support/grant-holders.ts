// A store with a grant at a path remote, and the machines of its holders, each of which has nothing
// but the grant and the address. The remote is a plain git repository, so that a test can be its
// hostile host.

import { expect } from 'vitest'
import { systemRandom } from '../../src/crypto/random.ts'
import type { Start } from '../../src/format/start.ts'
import {
  type Change,
  type GrantedOptions,
  type MemoryStore,
  openGranted,
  type SyncOptions,
  type SyncReport,
} from '../../src/index.ts'
import type { EpochKeys } from '../../src/keys/epoch.ts'
import { makeStart, openStart } from '../../src/keys/start.ts'
import { decodeWraps, grantKeysOf, openWraps, parseGrant } from '../../src/keys/wraps.ts'
import { bareRemote, type Clone, firstClone, joinClone, put, sync, syncAll } from './clones.ts'
import { author, contentsOf, leastStretch, newStore } from './stores.ts'
import { git, gitBytes, temporaryDirectory } from './temporary.ts'

export const holderAgent = {
  actor: { type: 'session', id: 'agent-2' },
  session: 'agent-2',
} as const

export interface GrantWorld {
  readonly url: string
  readonly granter: Clone
  readonly grant: string
  readonly grantId: string
}

/** A store of some commits and a grant. */
export async function givenGrant(role: 'writer' | 'reader' = 'writer'): Promise<GrantWorld> {
  const url = bareRemote()
  const granter = await firstClone(url)
  for (let n = 0; n < 4; n += 1) await put(granter, `/notes/${n}.md`, `text ${n}\n`)
  await granter.store.as(author).apply([{ type: 'delete', path: '/notes/3.md' }])
  await sync(granter)
  return { url, granter, ...(await giveMore(granter, role)) }
}

export async function giveMore(
  { store }: Clone,
  role: 'writer' | 'reader' = 'writer',
): Promise<Pick<GrantWorld, 'grant' | 'grantId'>> {
  const { text, grantId } = await store.as(author).grants.give({ role, label: 'ci' })
  return { grant: text, grantId }
}

const HOUR = 3_600_000

export interface Floored {
  readonly world: GrantWorld
  readonly old: Clone
  readonly older: Clone
}

/** A start with a floor, a clone that parted above the floor, and one that parted below it. */
export async function floored(): Promise<Floored> {
  let now = Date.now() - 26 * HOUR
  const clock = (): number => now
  const { store, place } = await newStore({ clock })
  const granter: Clone = { store, place }
  const url = bareRemote()
  await store.remotes.add('origin', url)
  await put(granter, '/a.md', 'first\n')
  await sync(granter)
  const older = await joinClone(granter, url)
  await syncAll([granter, older])
  for (let n = 0; n < 30; n += 1) await put(granter, '/b.md', `text ${n}`)
  now += 25 * HOUR
  await put(granter, '/c.md', 'above the floor\n')
  await sync(granter)
  const old = await joinClone(granter, url)
  await syncAll([granter, old])
  for (let n = 0; n < 60; n += 1) await put(granter, '/d.md', `text ${n}`)
  await sync(granter)
  const given = await giveMore(granter)
  now = Date.now()
  return { world: { url, granter, ...given }, old, older }
}

export type HolderPlace = Pick<GrantedOptions, 'directory' | 'stateDirectory'>

export function holderPlace(): HolderPlace {
  const root = temporaryDirectory()
  return { directory: `${root}/store`, stateDirectory: `${root}/state` }
}

export function hold(
  { url, grant }: Pick<GrantWorld, 'url' | 'grant'>,
  at: Partial<GrantedOptions> = {},
): Promise<MemoryStore> {
  return openGranted({ url, grant, stretch: leastStretch, ...holderPlace(), ...at })
}

export function writeAs(store: MemoryStore, ...changes: readonly Change[]): Promise<unknown> {
  return store.as(holderAgent).apply(changes)
}

export function create(path: string, content = path): Change {
  return { type: 'create', path, content }
}

export function syncHolder(store: MemoryStore, options?: SyncOptions): Promise<SyncReport> {
  return store.as(holderAgent).sync(options)
}

type Kind = 'start' | 'wraps'

/** The ref of a granter's start or wraps. */
export function refOf({ grant }: Pick<GrantWorld, 'grant'>, kind: Kind): string {
  const folder = kind === 'start' ? 'baseline' : kind
  return `refs/gitlocket/${folder}/${parseGrant(grant).name}`
}

/** What the remote shows to the holders. */
export function shownAt(world: Pick<GrantWorld, 'grant' | 'url'>, kind: Kind): Uint8Array {
  return gitBytes(['cat-file', 'blob', refOf(world, kind)], world.url)
}

/** Has the remote show other bytes, or nothing. */
export function showAt(
  world: Pick<GrantWorld, 'grant' | 'url'>,
  kind: Kind,
  bytes: Uint8Array | undefined,
): void {
  const { url } = world
  const ref = refOf(world, kind)
  if (bytes === undefined) {
    git(['update-ref', '-d', ref], url)
    return
  }
  const oid = git(['hash-object', '-w', '--stdin'], url, bytes).trim()
  git(['update-ref', ref, oid], url)
}

export function moveMain({ url }: Pick<GrantWorld, 'url'>, commit: string): void {
  git(['update-ref', 'refs/heads/main', commit], url)
}

export function mainAt({ url }: Pick<GrantWorld, 'url'>): string {
  return git(['rev-parse', 'main'], url).trim()
}

/** The keys that the wraps of a remote give to the holder of a grant. */
export function keysFor(world: Pick<GrantWorld, 'grant' | 'url'>): EpochKeys {
  const grant = parseGrant(world.grant)
  const wraps = decodeWraps(shownAt(world, 'wraps'))
  const epoch = openWraps(wraps, grant.granterKey, grantKeysOf(grant))
  if (epoch === undefined) throw new Error('the wraps have no keys for the grant')
  return epoch
}

/** The start that a remote shows. */
export function readStartAt(world: Pick<GrantWorld, 'grant' | 'url'>): Start {
  const { granterKey, storeId } = parseGrant(world.grant)
  return openStart(shownAt(world, 'start'), keysFor(world), granterKey, storeId)
}

/** Has the granter, or another device, show a changed start. */
export function forgeStart(
  world: GrantWorld,
  change: (start: Start) => Start,
  { place }: Pick<Clone, 'place'> = world.granter,
): void {
  const { storeId } = parseGrant(world.grant)
  const how = { storeId, pair: place.identity.signing, random: systemRandom }
  showAt(world, 'start', makeStart(keysFor(world), change(readStartAt(world)), how))
}

/** All have one head, and a fresh clone verifies it from genesis. */
export async function expectOneHead(
  world: GrantWorld,
  ...stores: readonly MemoryStore[]
): Promise<void> {
  await sync(world.granter)
  for (const store of stores) await syncHolder(store)
  await sync(world.granter)
  const contents = await contentsOf(world.granter.store)
  for (const store of stores) {
    await syncHolder(store)
    expect(await contentsOf(store)).toEqual(contents)
    expect((await store.status()).head).toBe((await world.granter.store.status()).head)
  }
  const fresh = await joinClone(world.granter, world.url)
  await fresh.store.maintenance.verify()
  expect(await contentsOf(fresh.store)).toEqual(contents)
  await fresh.store.close()
}

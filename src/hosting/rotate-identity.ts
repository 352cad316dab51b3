// Replaces the identity that all servers of a host share: a new device takes the place of the old
// one in every store, and all that was sealed for the old one alone is sealed for the new one. Each
// step looks at how far an earlier run came, so that it may be repeated after a crash at any point
// (docs/decisions/0061). The lists are last: until then, no server with the new identity starts.

import type { WorkOptions } from '../async.ts'
import { hasCode, StoreError } from '../errors.ts'
import type { Actor } from '../format/change-record.ts'
import { formatDeviceCard } from '../format/device-card.ts'
import { formatId, parseId } from '../format/id.ts'
import type { Identity } from '../keys/identity.ts'
import { moveOwn, type SealedOwn } from '../store/local/own-files.ts'
import type { MemoryStore } from '../store/memory-store.ts'
import { openStore } from '../store/open.ts'
import { localPlaces, ownFilesOf } from '../store/session/open-options.ts'
import { checkNotCancelled } from '../time-slice.ts'
import { type BackupReport, noHostError } from './backup.ts'
import { Catalogue, catalogueTables } from './catalogue.ts'
import { Credentials, credentialTables } from './credentials.ts'
import type { HostNotice, RotatingBackend, RotatingPlace } from './host-backend.ts'
import { openList } from './list-file.ts'

export interface IdentityRotation extends WorkOptions {
  /** Backends of one place, which the caller closes: of the old identity, and of the new one. */
  readonly from: RotatingBackend
  readonly to: RotatingBackend
  /** In whose name the stores are changed. */
  readonly actor: Actor
  readonly notice: (notice: HostNotice) => void
}

export interface IdentityRotationReport extends BackupReport {
  /** `memstore_…`, which further devices open: their owner may have added them, or a thief. */
  readonly shared: readonly string[]
}

/**
 * Rejects with `not_found` without a host, with `locked` while a server runs, and with `wrong_key`
 * if the host is of neither identity. A store that fails does not keep the others: it is opened by
 * neither server until a repetition succeeds.
 */
export async function rotateIdentity(rotation: IdentityRotation): Promise<IdentityRotationReport> {
  const { from, notice } = rotation
  if (sameIdentity(rotation)) {
    throw new StoreError('invalid_input', 'The new identity is the one that the host has')
  }
  return from.withoutServers(notice, () => from.hold('rotation', () => rotateAll(rotation)))
}

function sameIdentity({ from, to }: IdentityRotation): boolean {
  return from.owner.identity.deviceId === to.owner.identity.deviceId
}

async function rotateAll(rotation: IdentityRotation): Promise<IdentityRotationReport> {
  const { from, to, notice, progress, signal } = rotation
  if ((await from.contents()) !== 'host') throw noHostError()
  const taken = await opened(() => Catalogue.open(to, notice, true))
  const catalogue = taken ?? (await Catalogue.open(from, notice, false))
  const storeIds = (await catalogue.stores()).map(({ storeId }) => storeId)
  const [failed, shared]: [string[], string[]] = [[], []]
  for (const [done, storeId] of storeIds.entries()) {
    progress?.(done, storeIds.length)
    checkNotCancelled(signal)
    try {
      if (await rotateStore(rotation, storeId)) shared.push(storeId)
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
      notice({ about: storeId, error })
      failed.push(storeId)
    }
  }
  progress?.(storeIds.length, storeIds.length)
  await takeCredentials(rotation)
  if (taken === undefined) await takeCatalogue(rotation, catalogue)
  return { stores: storeIds.length - failed.length, failed, shared }
}

/** Undefined if another identity has sealed the list. */
async function opened<T>(open: () => Promise<T>): Promise<T | undefined> {
  try {
    return await open()
  } catch (error) {
    if (hasCode(error, 'wrong_key')) return undefined
    throw error
  }
}

async function takeCredentials({ from, to, notice }: IdentityRotation): Promise<void> {
  if ((await opened(() => Credentials.open(to, notice, true))) !== undefined) return
  const { bytes } = await (await Credentials.open(from, notice, false)).snapshot()
  await to.takeRecords('credentials', credentialTables, openList(from.owner, 'credentials', bytes))
  // Notes how new it is.
  await Credentials.open(to, notice, true)
}

async function takeCatalogue(
  { from, to, notice }: IdentityRotation,
  catalogue: Catalogue,
): Promise<void> {
  const { bytes } = await catalogue.snapshot()
  await to.takeRecords('catalogue', catalogueTables, openList(from.owner, 'catalogue', bytes))
  await Catalogue.open(to, notice, true)
}

/** Whether further devices open the store. */
async function rotateStore(
  { from, to, actor }: IdentityRotation,
  storeId: string,
): Promise<boolean> {
  const next = to.owner.identity
  await from.rotateStore(storeId, next, (place) => replaceDevice(place, storeId, { next, actor }))
  const store = await to.openStore(storeId)
  try {
    const devices = await store.devices.list()
    return devices.some(({ removed, isThis }) => removed === undefined && !isThis)
  } finally {
    await store.close()
  }
}

function ownOf(place: RotatingPlace, storeId: string): SealedOwn {
  const id = parseId('store', storeId)
  return { owner: localPlaces(place, id).caches, files: ownFilesOf(place, id) }
}

interface Successor {
  readonly next: Identity
  readonly actor: Actor
}

async function replaceDevice(
  place: RotatingPlace,
  storeId: string,
  { next, actor }: Successor,
): Promise<void> {
  const nextPlace = { ...place, identity: next }
  // First: the new device, too, notices a store that was put back.
  await moveOwn(ownOf(place, storeId), ownOf(nextPlace, storeId))
  const open = (at: RotatingPlace): Promise<MemoryStore> => openStore({ ...at, storeId })
  let store = await opened(() => open(nextPlace))
  if (store === undefined) {
    await using(await open(place), (before) => addDevice(before, { next, actor }))
    store = await open(nextPlace)
  }
  await using(store, async (after) => {
    const old = formatId('device', place.identity.deviceId)
    const devices = await after.devices.list()
    const isThere = devices.some(
      ({ deviceId, removed }) => deviceId === old && removed === undefined,
    )
    if (isThere) settled(await after.as({ actor }).devices.remove([old]))
    await after.maintenance.checkpoint()
  })
}

async function addDevice(store: MemoryStore, { next, actor }: Successor): Promise<void> {
  const me = store.as({ actor })
  // A run that died after a push, with a copy, has left its changes there alone.
  for (const { name } of await store.remotes.list()) await me.sync({ remote: name })
  const old = (await store.devices.list()).find(({ isThis }) => isThis)
  if (old === undefined) throw new StoreError('not_found', 'The store has no such device')
  const { name, role } = old
  settled(await me.devices.add(formatDeviceCard(next, { name }), role))
  await store.maintenance.checkpoint()
}

/** Throws if no remote is known to have the change. */
function settled({ pending }: { readonly pending?: unknown }): void {
  if (pending !== undefined) throw pending
}

async function using(store: MemoryStore, work: (store: MemoryStore) => Promise<void>) {
  try {
    await work(store)
  } finally {
    await store.close()
  }
}

// The repository of a replica: the one that an earlier process left in order, or a new one, which
// is empty or made from the base. Must not follow the log.

import { asciiText, toHex, utf8 } from '../../bytes.ts'
import { systemRandom } from '../../crypto/random.ts'
import type { Disk } from '../../disk/disk.ts'
import { StoreError } from '../../errors.ts'
import {
  createDiskObjectStore,
  type DiskObjectStore,
  openDiskObjectStore,
} from '../disk-store/disk-object-store.ts'
import type { DiskObjectStoreOptions } from '../disk-store/store-parts.ts'
import type { Oid } from '../objects/object.ts'
import { initRepository } from '../refs/repository.ts'
import { fetchBase, type FetchedBase, writeFile } from './base.ts'
import type { LogBase, SharedLog } from './shared-log.ts'

export interface ReplicaOptions extends DiskObjectStoreOptions {
  readonly log: SharedLog
  /** Where the replica may be, private to this process. Made if it is missing. */
  readonly directory: string
}

/** A base that is replaced while it is read is read again, this often at most. */
const ATTEMPTS = 5
const noteName = 'position'
const repositoryPattern = /^repository-[0-9a-f]{16}$/

/** Where a replica was when it was closed. */
export interface ReplicaNote {
  readonly repository: string
  readonly number: number
  readonly base: number
  readonly head: Oid | undefined
  readonly bytes: LogBytes
  readonly eraseNumber: number | undefined
}

/** Sizes, to decide when a new base is due. */
export interface LogBytes {
  readonly base: number
  /** Of the entries since then, and their parts. */
  readonly log: number
}

export type PlacedOptions = ReplicaOptions & { readonly disk: Disk }
export type ReplicaPosition = Pick<ReplicaNote, 'number' | 'base' | 'bytes' | 'eraseNumber'>
export type MadeReplica = ReplicaPosition & {
  readonly store: DiskObjectStore
  readonly repository: string
}

/** The repository of a replica, which may be open. */
export function findRepository(disk: Disk, directory: string): string | undefined {
  const name = disk.list(directory).find((one) => repositoryPattern.test(one))
  return name && `${directory}/${name}`
}

/** Only a replica that was closed in order is used again, once. Removes all other repositories. */
export function takeNote(disk: Disk, directory: string): ReplicaNote | undefined {
  const path = `${directory}/${noteName}`
  const bytes = disk.readFile(path)
  disk.remove(path)
  const note = bytes && parseNote(bytes)
  for (const name of disk.list(directory)) {
    const isLeft = repositoryPattern.test(name) && name !== note?.repository
    if (isLeft) disk.removeTree(`${directory}/${name}`)
  }
  return note
}

/** A replica that no process has open and that was closed in order; undefined for any other. */
export function replicaAtRest(
  disk: Disk,
  directory: string,
): { readonly number: number; readonly closedAt: number } | undefined {
  const path = `${directory}/${noteName}`
  const status = disk.stat(path)
  const bytes = status && disk.readFile(path)
  const note = bytes && parseNote(bytes)
  return note && status && { number: note.number, closedAt: status.mtimeMs }
}

export function writeNote(disk: Disk, directory: string, note: ReplicaNote): void {
  const path = `${directory}/${noteName}`
  disk.remove(path)
  writeFile(disk, path, utf8(JSON.stringify(note)))
}

function parseNote(bytes: Uint8Array): ReplicaNote | undefined {
  try {
    const note: ReplicaNote = JSON.parse(asciiText(bytes))
    return repositoryPattern.test(note.repository) ? note : undefined
  } catch {
    return undefined
  }
}

export async function reopen(
  options: PlacedOptions,
  note: ReplicaNote,
): Promise<MadeReplica | undefined> {
  const { repository } = note
  const directory = `${options.directory}/${repository}`
  try {
    const store = await openDiskObjectStore({ ...options, directory })
    if (store.head === note.head) return { ...note, store, repository }
    await store.close()
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
  }
  options.disk.removeTree(directory)
  return undefined
}

/** A repository in a directory of its own, from a base or empty. */
export async function makeAnew(
  options: PlacedOptions,
  base: LogBase | undefined,
): Promise<MadeReplica> {
  const { disk, log, random = systemRandom } = options
  for (let from = base, attempt = 1; ; attempt += 1) {
    const repository = `repository-${toHex(random(8))}`
    const directory = `${options.directory}/${repository}`
    try {
      const { store, bytes } = await fillRepository({ ...options, directory }, from)
      const number = from?.number ?? 0
      const place = { number, base: number, bytes: { base: bytes, log: 0 } }
      return { ...place, eraseNumber: undefined, store, repository }
    } catch (error) {
      disk.removeTree(directory)
      const newest = await log.base()
      // Another server has replaced the base, and removed the parts of this one.
      if (newest?.id === from?.id || attempt === ATTEMPTS) throw error
      from = newest
    }
  }
}

async function fillRepository(
  options: PlacedOptions,
  base: LogBase | undefined,
): Promise<{ readonly store: DiskObjectStore; readonly bytes: number }> {
  const { disk, log, directory } = options
  if (base === undefined) return { store: await createDiskObjectStore(options), bytes: 0 }
  await initRepository(disk, directory)
  const fetched = await fetchBase(disk, log, base, directory)
  const store = await openDiskObjectStore(options)
  try {
    await takeRefs(store, fetched)
  } catch (error) {
    await store.close()
    throw error
  }
  return { store, bytes: fetched.bytes }
}

async function takeRefs(store: DiskObjectStore, { tracked, remotes }: FetchedBase): Promise<void> {
  for (const remote of remotes) await store.exchange.addRemote(remote)
  for (const [name, commit] of tracked) await store.exchange.track(name, commit)
}

// What a device keeps for itself outside the objects of a store: the anchor (FORMAT §9), the state
// of remotes, and caches, each one sealed body under a name. They are files next to a store and in
// the state directory; servers that share a store keep them in their engine, for all of them.
// Knows neither what the bodies mean nor when to write them.

import { utf8 } from '../../bytes.ts'
import { atomicWrite, type Disk, makeDurableDirectory, removeTemporary } from '../../disk/disk.ts'
import { dirname } from '../../platform/paths.ts'
import {
  type CacheFile,
  type CacheRole,
  hasNoValue,
  openCache,
  parseCache,
  sealCache,
  type SealOwner,
  type SealPlace,
  untilPadding,
} from './sealed-cache.ts'

const roles = {
  anchor: 'anchor',
  remotes: 'remotes',
  grants: 'grants',
  reads: 'reads',
  state: 'state',
  'state-changes': 'state',
} as const satisfies Record<string, CacheRole>
export type OwnName = keyof typeof roles

/** A redaction erases these: the history gives them again, except the days of reads. */
export const ownCaches = ['state', 'state-changes', 'reads'] as const satisfies readonly OwnName[]

/**
 * As one handle of a store has them. It remembers which version of each file it has seen: the one
 * that it read or wrote last, and at first none. A caller that makes a version from the one before
 * lets no other call for that name come in between.
 */
export interface OwnFiles {
  /**
   * Whether other servers may write at any time. Otherwise each writer holds the lock of
   * the store.
   */
  readonly isShared: boolean
  /** The newest version; undefined if the file is missing. */
  read(name: OwnName): Promise<Uint8Array | undefined>
  /** Whether `read` would give another version than this handle has seen, without reading it. */
  hasChanged(name: OwnName): Promise<boolean>
  /**
   * Durable and atomic: a reader finds the version before or this one. False, with nothing written,
   * if the files are shared and the newest version is not the one that this handle has seen.
   */
  write(name: OwnName, bytes: Uint8Array): Promise<boolean>
  /**
   * The file may be missing already. If the files are shared, no handle that has seen only an
   * earlier version, or a missing file, can write it again.
   */
  remove(name: OwnName): Promise<void>
  /** When the newest version was written, ms since 1970, by the clock of the place it is in. */
  writtenAt(name: OwnName): Promise<number | undefined>
}

/** Files of a directory each. Writers hold the lock of the store, so nothing is compared. */
export class OwnDirectory implements OwnFiles {
  readonly isShared = false
  readonly #disk: Disk
  readonly #paths: Readonly<Record<OwnName, string>>
  readonly #seen: Map<OwnName, string> = new Map()

  constructor(disk: Disk, paths: Readonly<Record<OwnName, string>>) {
    this.#disk = disk
    this.#paths = paths
  }

  async read(name: OwnName): Promise<Uint8Array | undefined> {
    // Before the file is read: if another process replaces it in between, it has changed.
    this.#seen.set(name, this.#versionOf(name))
    return this.#disk.readFile(this.#paths[name])
  }

  async hasChanged(name: OwnName): Promise<boolean> {
    return this.#versionOf(name) !== (this.#seen.get(name) ?? '')
  }

  async write(name: OwnName, bytes: Uint8Array): Promise<boolean> {
    const path = this.#paths[name]
    await makeDurableDirectory(this.#disk, dirname(path))
    await atomicWrite(this.#disk, path, bytes)
    this.#seen.set(name, this.#versionOf(name))
    return true
  }

  async remove(name: OwnName): Promise<void> {
    const path = this.#paths[name]
    this.#disk.remove(path)
    removeTemporary(this.#disk, path)
    this.#seen.delete(name)
  }

  async writtenAt(name: OwnName): Promise<number | undefined> {
    return this.#disk.stat(this.#paths[name])?.mtimeMs
  }

  #versionOf(name: OwnName): string {
    const status = this.#disk.stat(this.#paths[name])
    return status === undefined ? '' : `${status.inode} ${status.mtimeMs} ${status.size}`
  }
}

/** The value in a JSON file; undefined if it is missing. Throws as `readCache` does. */
export async function readOwn<T extends CacheFile>(
  owner: SealOwner,
  files: OwnFiles,
  name: OwnName,
  version: T['version'],
): Promise<T | undefined> {
  const bytes = await files.read(name)
  if (bytes === undefined) return undefined
  return parseCache<T>(openCache(owner, { role: roles[name], generation: 0 }, bytes), version)
}

/** The same, or undefined unless the file is whole and of this device and release. */
export async function findOwn<T extends CacheFile>(
  owner: SealOwner,
  files: OwnFiles,
  name: OwnName,
  version: T['version'],
): Promise<T | undefined> {
  try {
    return await readOwn<T>(owner, files, name, version)
  } catch (error) {
    if (hasNoValue(error)) return undefined
    throw error
  }
}

/** As `OwnFiles.write`, for a JSON file. */
export function writeOwn(
  owner: SealOwner,
  files: OwnFiles,
  name: OwnName,
  file: CacheFile,
): Promise<boolean> {
  const place = { role: roles[name], generation: 0 }
  return files.write(name, sealCache(owner, place, utf8(JSON.stringify(file))))
}

/** The files of one device, and what seals them. */
export interface SealedOwn {
  readonly owner: SealOwner
  readonly files: OwnFiles
}

/**
 * Hands the notes of one device to another, sealed for that one alone; its own notes are kept. Both
 * may have the same files. Removes the caches. Throws an envelope code.
 */
export async function moveOwn(before: SealedOwn, after: SealedOwn): Promise<void> {
  for (const name of ['anchor', 'remotes', 'reads'] as const) {
    const place = { role: roles[name], generation: 0 }
    const known = await after.files.read(name)
    if (known !== undefined && opens(after.owner, place, known)) continue
    const bytes = await before.files.read(name)
    if (bytes === undefined) continue
    const plain = untilPadding(openCache(before.owner, place, bytes))
    await after.files.write(name, sealCache(after.owner, place, plain))
  }
  // Grants are of the device that gave them.
  for (const name of ['grants', 'state', 'state-changes'] as const) await before.files.remove(name)
}

function opens(owner: SealOwner, place: SealPlace, bytes: Uint8Array): boolean {
  try {
    openCache(owner, place, bytes)
    return true
  } catch (error) {
    if (hasNoValue(error)) return false
    throw error
  }
}

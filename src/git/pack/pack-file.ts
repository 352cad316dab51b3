// Writes packs to disk: under temporary names that git knows how to remove, synced, then renamed,
// the pack last, so that a pack is visible completely or not at all. Until then it is a temporary
// pack, which no one reads. Must not know what entries are.

import { toHex } from '../../bytes.ts'
import { systemRandom } from '../../crypto/random.ts'
import type { Disk } from '../../disk/disk.ts'
import { assert } from '../../errors.ts'
import type { HashedColumns } from '../exchange.ts'
import type { PackStatus } from '../object-store.ts'
import { HashedFile } from './hashed-file.ts'
import { encodePackHeader } from './pack-entry.ts'

/** A complete, durable pack that is not visible yet. */
export interface TemporaryPack extends PackStatus {
  /** The part that makes its temporary names unique. */
  readonly token: string
}

/** A received pack that was checked, with its commits and trees unless it is small. */
export interface IndexedPack extends TemporaryPack {
  readonly hashed: HashedColumns | undefined
}

/** The temporary names of this engine's packs; no other program uses them. */
export const temporaryPackPattern: RegExp = /^tmp_(pack|idx)_[0-9a-f]{16}$/

export class PackFile {
  readonly #disk: Disk
  readonly #directory: string
  readonly #count: number
  readonly #token: string
  readonly #file: HashedFile

  /**
   * Writes a pack of `count` objects: `fill` appends the entries and finishes it. Removes the files
   * after a failure.
   */
  static async write(
    disk: Disk,
    directory: string,
    count: number,
    fill: (file: PackFile) => Promise<TemporaryPack>,
  ): Promise<TemporaryPack> {
    const file = new PackFile(disk, directory, count)
    try {
      return await fill(file)
    } catch (error) {
      file.#file.close()
      discardTemporaryPack(disk, directory, file.#token)
      throw error
    }
  }

  private constructor(disk: Disk, directory: string, count: number) {
    this.#disk = disk
    this.#directory = directory
    this.#count = count
    // Not secret: the name must only differ from that of any other writer.
    this.#token = toHex(systemRandom(8))
    this.#file = new HashedFile(disk, temporaryPath(directory, 'pack', this.#token))
    this.append(encodePackHeader(count))
  }

  /** The offset at which the next bytes are written. */
  get offset(): number {
    return this.#file.offset
  }

  /** The caller may reuse the bytes afterwards. */
  append(bytes: Uint8Array): void {
    this.#file.append(bytes)
  }

  /** Makes the pack and its index durable; `encodeIndex` encodes it for the pack's checksum. */
  finish(encodeIndex: (checksum: Uint8Array) => Uint8Array): Promise<TemporaryPack> {
    return this.#finish((checksum) => {
      return writeTemporaryIndex(this.#disk, this.#directory, this.#token, encodeIndex(checksum))
    })
  }

  /** Like `finish`, but the index is streamed, except for its own checksum. */
  finishWith(writeIndex: (file: HashedFile, checksum: Uint8Array) => void): Promise<TemporaryPack> {
    return this.#finish(async (checksum) => {
      const path = temporaryPath(this.#directory, 'idx', this.#token)
      const file = new HashedFile(this.#disk, path)
      try {
        writeIndex(file, checksum)
        await file.finish()
      } finally {
        file.close()
      }
    })
  }

  async #finish(writeIndex: (checksum: Uint8Array) => Promise<void>): Promise<TemporaryPack> {
    const checksum = await this.#file.finish()
    const bytes = this.#file.offset
    await writeIndex(checksum)
    return { name: packNameOf(checksum), objects: this.#count, bytes, token: this.#token }
  }
}

/** Writes the index of a temporary pack; durable when it resolves. */
export async function writeTemporaryIndex(
  disk: Disk,
  directory: string,
  token: string,
  bytes: Uint8Array,
): Promise<void> {
  const fd = disk.open(temporaryPath(directory, 'idx', token), 'wx')
  try {
    disk.write(fd, bytes, 0)
    await disk.sync(fd)
  } finally {
    disk.close(fd)
  }
}

/** Makes temporary packs visible; their names are durable when it resolves. */
export async function publishPacks(
  disk: Disk,
  directory: string,
  packs: readonly TemporaryPack[],
): Promise<void> {
  if (packs.length === 0) return
  for (const { name, token } of packs) {
    // Readers ignore an index without its pack, and it can be removed; a pack without its index
    // could be that of a running git.
    disk.rename(temporaryPath(directory, 'idx', token), `${directory}/${name}.idx`)
    disk.rename(temporaryPath(directory, 'pack', token), `${directory}/${name}.pack`)
  }
  await disk.syncDirectory(directory)
}

/** Removes a temporary pack, complete or not. */
export function discardTemporaryPack(disk: Disk, directory: string, token: string): void {
  disk.remove(temporaryPath(directory, 'pack', token))
  disk.remove(temporaryPath(directory, 'idx', token))
}

/** The result of a `stage` job. */
export function asTemporaryPack(pack: TemporaryPack | object | undefined): TemporaryPack {
  assert(pack !== undefined && 'token' in pack, 'a staged pack has a token')
  return pack
}

/** The result of an `index` job. */
export function asIndexedPack(pack: IndexedPack | object | undefined): IndexedPack {
  assert(pack !== undefined && 'hashed' in pack, 'an indexed pack names its objects')
  return pack
}

export function packNameOf(checksum: Uint8Array): string {
  return `pack-${toHex(checksum)}`
}

/** The path of a temporary pack or its index. */
export function temporaryPath(directory: string, kind: 'pack' | 'idx', token: string): string {
  return `${directory}/tmp_${kind}_${token}`
}

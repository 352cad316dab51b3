// The bytes of a pack on their way to the disk: under temporary names that git knows how to sweep,
// synced, then renamed, the pack last, so that a pack is seen whole or not at all. Between the two
// it is a temporary pack, which nobody reads. Must not know what entries are.

import { toHex } from '../../bytes.ts'
import { systemRandom } from '../../crypto/random.ts'
import type { Disk } from '../../disk/disk.ts'
import { assert } from '../../errors.ts'
import type { ObjectAmount, PackStatus } from '../object-store.ts'
import { HashedFile } from './hashed-file.ts'
import { encodePackHeader } from './pack-entry.ts'

/** A whole, durable pack that is not visible yet. */
export interface TemporaryPack extends PackStatus {
  /** In its temporary names. */
  readonly token: string
}

/** What temporary packs of this engine are called, and no other program's. */
export const temporaryPackPattern: RegExp = /^tmp_(pack|idx)_[0-9a-f]{16}$/

export class PackFile {
  readonly #disk: Disk
  readonly #directory: string
  readonly #count: number
  readonly #token: string
  readonly #file: HashedFile

  /** For `count` objects, in `directory`. */
  constructor(disk: Disk, directory: string, count: number) {
    this.#disk = disk
    this.#directory = directory
    this.#count = count
    // Nothing secret: the name must only differ from that of any other writer.
    this.#token = toHex(systemRandom(8))
    this.#file = new HashedFile(disk, temporaryPath(directory, 'pack', this.#token))
    this.append(encodePackHeader(count))
  }

  /** Where the next bytes go. */
  get offset(): number {
    return this.#file.offset
  }

  /** The caller may use the bytes again afterwards. */
  append(bytes: Uint8Array): void {
    this.#file.append(bytes)
  }

  /** Makes the pack durable, and the index that `encodeIndex` makes for the pack's checksum. */
  finish(encodeIndex: (checksum: Uint8Array) => Uint8Array): Promise<TemporaryPack> {
    return this.#finish((checksum) => {
      return writeTemporaryIndex(this.#disk, this.#directory, this.#token, encodeIndex(checksum))
    })
  }

  /** As `finish`, but the index is written bit by bit, up to its own checksum. */
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

  /** Removes what was written. */
  abandon(): void {
    this.#file.close()
    discardTemporaryPack(this.#disk, this.#directory, this.#token)
  }

  async #finish(writeIndex: (checksum: Uint8Array) => Promise<void>): Promise<TemporaryPack> {
    const checksum = await this.#file.finish()
    const bytes = this.#file.offset
    await writeIndex(checksum)
    return { name: packNameOf(checksum), objects: this.#count, bytes, token: this.#token }
  }
}

/** The index of a temporary pack, durable when it resolves. */
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
    // An index alone is nothing to any reader and can be swept up; a pack alone could be that of a
    // running git.
    disk.rename(temporaryPath(directory, 'idx', token), `${directory}/${name}.idx`)
    disk.rename(temporaryPath(directory, 'pack', token), `${directory}/${name}.pack`)
  }
  await disk.syncDirectory(directory)
}

/** Removes a temporary pack, or what there is of it. */
export function discardTemporaryPack(disk: Disk, directory: string, token: string): void {
  disk.remove(temporaryPath(directory, 'pack', token))
  disk.remove(temporaryPath(directory, 'idx', token))
}

/** What a `stage` job came back with. */
export function asTemporaryPack(
  pack: PackStatus | TemporaryPack | ObjectAmount | undefined,
): TemporaryPack {
  assert(pack !== undefined && 'token' in pack, 'a staged pack has a token')
  return pack
}

export function packNameOf(checksum: Uint8Array): string {
  return `pack-${toHex(checksum)}`
}

/** Where a temporary pack, or its index, is meanwhile. */
export function temporaryPath(directory: string, kind: 'pack' | 'idx', token: string): string {
  return `${directory}/tmp_${kind}_${token}`
}

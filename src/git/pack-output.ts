// A pack and its index while they are written: under temporary names that git knows how to sweep,
// synced, then renamed, the index last, so that a pack is seen whole or not at all. Streams: keeps
// the index's rows in memory, never the pack. Must not know where entries come from.

import { crc32 } from 'node:zlib'
import { toHex } from '../bytes.ts'
import { systemRandom } from '../crypto/random.ts'
import { Sha1 } from '../crypto/sha1.ts'
import { MEBIBYTE } from '../limits.ts'
import type { Disk } from './disk.ts'
import type { PackStatus } from './object-store.ts'
import { encodePackHeader } from './pack-entry.ts'
import { PackIndexBuilder } from './pack-index.ts'

const bufferBytes = MEBIBYTE

export class PackOutput {
  readonly #disk: Disk
  readonly #directory: string
  readonly #count: number
  readonly #index: PackIndexBuilder
  readonly #sha1 = new Sha1()
  readonly #temporaryPack: string
  readonly #temporaryIndex: string
  readonly #fd: number
  #open = true
  #buffered: Uint8Array[] = []
  #bufferedBytes = 0
  #written = 0

  /** `count` objects must follow, exactly. */
  constructor(disk: Disk, directory: string, count: number) {
    this.#disk = disk
    this.#directory = directory
    this.#count = count
    this.#index = new PackIndexBuilder(count)
    // Nothing secret: the name must only differ from that of any other writer.
    const token = toHex(systemRandom(8))
    this.#temporaryPack = `${directory}/tmp_pack_${token}`
    this.#temporaryIndex = `${directory}/tmp_idx_${token}`
    this.#fd = disk.open(this.#temporaryPack, 'wx')
    this.#append(encodePackHeader(count))
  }

  /** Where the next entry starts. */
  get offset(): number {
    return this.#written + this.#bufferedBytes
  }

  /** Appends an entry, `header` and `deflated` data, for the object that these 20 bytes name. */
  add(oid: Uint8Array, header: Uint8Array, deflated: Uint8Array): void {
    this.#index.add(oid, this.offset, crc32(deflated, crc32(header)))
    this.#append(header)
    this.#append(deflated)
  }

  /** Makes the pack durable and visible. */
  async finish(): Promise<PackStatus> {
    this.#flush()
    const checksum = this.#sha1.digest()
    this.#disk.write(this.#fd, checksum, this.#written)
    const bytes = this.#written + checksum.length
    await this.#disk.sync(this.#fd)
    this.#close()
    await this.#writeIndex(this.#index.encode(checksum))
    const name = `pack-${toHex(checksum)}`
    this.#disk.rename(this.#temporaryPack, `${this.#directory}/${name}.pack`)
    this.#disk.rename(this.#temporaryIndex, `${this.#directory}/${name}.idx`)
    await this.#disk.syncDirectory(this.#directory)
    return { name, objects: this.#count, bytes }
  }

  /** Removes what was written. */
  abandon(): void {
    this.#close()
    this.#disk.remove(this.#temporaryPack)
    this.#disk.remove(this.#temporaryIndex)
  }

  async #writeIndex(bytes: Uint8Array): Promise<void> {
    const fd = this.#disk.open(this.#temporaryIndex, 'wx')
    try {
      this.#disk.write(fd, bytes, 0)
      await this.#disk.sync(fd)
    } finally {
      this.#disk.close(fd)
    }
  }

  #append(bytes: Uint8Array): void {
    this.#buffered.push(bytes)
    this.#bufferedBytes += bytes.length
    if (this.#bufferedBytes >= bufferBytes) this.#flush()
  }

  #flush(): void {
    const bytes = Buffer.concat(this.#buffered)
    this.#sha1.update(bytes)
    this.#disk.write(this.#fd, bytes, this.#written)
    this.#written += bytes.length
    this.#buffered = []
    this.#bufferedBytes = 0
  }

  #close(): void {
    if (this.#open) this.#disk.close(this.#fd)
    this.#open = false
  }
}

/** Runs `fill`, then finishes the pack; after a failure nothing of it is left. */
export async function writeWithOutput(
  output: PackOutput,
  fill: (output: PackOutput) => void,
): Promise<PackStatus> {
  try {
    fill(output)
    return await output.finish()
  } catch (error) {
    output.abandon()
    throw error
  }
}

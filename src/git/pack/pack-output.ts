// Writes a pack and its index entry by entry. Streams: keeps the rows of the index in memory, never
// the pack. Must not know where entries come from; pack-file.ts handles the files.

import { crc32 } from 'node:zlib'
import type { Disk } from '../../disk/disk.ts'
import type { PackStatus } from '../object-store.ts'
import { PackFile, publishPacks, type TemporaryPack } from './pack-file.ts'
import { PackIndexBuilder } from './pack-index.ts'

export class PackOutput {
  readonly #disk: Disk
  readonly #directory: string
  readonly #index: PackIndexBuilder
  readonly #file: PackFile

  /** Exactly `count` objects must follow. */
  constructor(disk: Disk, directory: string, count: number) {
    this.#disk = disk
    this.#directory = directory
    this.#index = new PackIndexBuilder(count)
    this.#file = new PackFile(disk, directory, count)
  }

  /** The offset of the next entry. */
  get offset(): number {
    return this.#file.offset
  }

  /** Appends an entry, `header` and `deflated` data, for the object with this 20-byte oid. */
  add(oid: Uint8Array, header: Uint8Array, deflated: Uint8Array): void {
    this.#index.add(oid, this.offset, crc32(deflated, crc32(header)))
    this.#file.append(header)
    this.#file.append(deflated)
  }

  /** Makes the pack durable; it remains invisible until `publishPacks`. */
  finishTemporary(): Promise<TemporaryPack> {
    return this.#file.finish((checksum) => this.#index.encode(checksum))
  }

  /** Makes the pack durable and visible. */
  async finish(): Promise<PackStatus> {
    const temporary = await this.finishTemporary()
    await publishPacks(this.#disk, this.#directory, [temporary])
    const { name, objects, bytes } = temporary
    return { name, objects, bytes }
  }

  /** Removes the files. */
  abandon(): void {
    this.#file.abandon()
  }
}

/** Runs `fill`, then finishes the pack; removes it after a failure. */
export function writeWithOutput(
  output: PackOutput,
  fill: (output: PackOutput) => void,
): Promise<PackStatus> {
  return orAbandon(output, () => {
    fill(output)
    return output.finish()
  })
}

/** Like `writeWithOutput`, but the pack remains invisible. */
export function writeTemporaryWithOutput(
  output: PackOutput,
  fill: (output: PackOutput) => void,
): Promise<TemporaryPack> {
  return orAbandon(output, () => {
    fill(output)
    return output.finishTemporary()
  })
}

async function orAbandon<T>(output: PackOutput, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    output.abandon()
    throw error
  }
}

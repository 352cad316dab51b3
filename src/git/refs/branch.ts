// Reads a ref, refs/heads/main by default, as git does: the loose file, else packed-refs. Must
// never write, and must never take an empty or damaged file for a missing branch: the next commit
// would silently start a new history.

import { asciiText } from '../../bytes.ts'
import { type Disk, type FileStatus, isSameFile } from '../../disk/disk.ts'
import { StoreError } from '../../errors.ts'
import { lineFileBytesMax } from '../../limits.ts'
import type { Oid } from '../objects/object.ts'

export const branchName: string = 'refs/heads/main'

export class Branch {
  readonly #disk: Disk
  readonly #name: string
  readonly #loose: string
  readonly #packed: string
  #looseStatus: FileStatus | undefined
  #packedStatus: FileStatus | undefined
  #value: Oid | undefined

  constructor(disk: Disk, directory: string, name: string = branchName) {
    this.#disk = disk
    this.#name = name
    this.#loose = `${directory}/${name}`
    this.#packed = `${directory}/packed-refs`
  }

  get value(): Oid | undefined {
    return this.#value
  }

  /** Whether the files differ from what `load` saw. Git replaces them, so the inode changes. */
  changed(): boolean {
    const loose = this.#disk.stat(this.#loose)
    if (!isSameFile(loose, this.#looseStatus)) return true
    return loose === undefined && !isSameFile(this.#disk.stat(this.#packed), this.#packedStatus)
  }

  load(): void {
    // Status first: a change in between is noticed at the next call.
    this.#looseStatus = this.#disk.stat(this.#loose)
    this.#packedStatus = this.#disk.stat(this.#packed)
    this.#value = this.read()
  }

  /** Reads the commit now. Throws `ref_corrupt` if the file is damaged. */
  read(): Oid | undefined {
    const loose = this.#disk.readFile(this.#loose, lineFileBytesMax)
    if (loose !== undefined) return this.#parseLoose(asciiText(loose))
    const packed = this.#disk.readFile(this.#packed, lineFileBytesMax)
    if (packed !== undefined) return this.#findPacked(asciiText(packed))
    // The loose file appears when a packed ref moves: check again before reporting none.
    const again = this.#disk.readFile(this.#loose, lineFileBytesMax)
    return again === undefined ? undefined : this.#parseLoose(asciiText(again))
  }

  #parseLoose(text: string): Oid {
    const match = /^([0-9a-f]{40})\n?$/.exec(text)
    if (match?.[1] === undefined) {
      const state = text === '' ? 'empty' : 'damaged'
      throw new StoreError(
        'ref_corrupt',
        `The file ${this.#name} is ${state}: it must hold the 40 hex digits of a commit`,
      )
    }
    return match[1]
  }

  #findPacked(text: string): Oid | undefined {
    const line = text.split('\n').find((entry) => entry.endsWith(` ${this.#name}`))
    return line === undefined ? undefined : this.#parseLoose(line.slice(0, -this.#name.length - 1))
  }
}

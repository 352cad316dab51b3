// A new file that ends with the SHA-1 of its content, like packs and their indexes. Keeps one
// buffer in RAM. Must not know what the bytes are.

import { Sha1 } from '../../crypto/sha1.ts'
import type { Disk } from '../../disk/disk.ts'
import { MEBIBYTE } from '../../limits.ts'

const bufferBytes = MEBIBYTE
/** Longer parts are written without being buffered. */
const copiedBytesMax = bufferBytes / 4

export class HashedFile {
  readonly #disk: Disk
  readonly #sha1 = new Sha1()
  readonly #buffer: Uint8Array = new Uint8Array(bufferBytes)
  readonly #fd: number
  #open = true
  #buffered = 0
  #written = 0

  /** Throws if the file exists. */
  constructor(disk: Disk, path: string) {
    this.#disk = disk
    this.#fd = disk.open(path, 'wx')
  }

  /** The offset at which the next bytes are written. */
  get offset(): number {
    return this.#written + this.#buffered
  }

  /** The caller may reuse the bytes afterwards. */
  append(bytes: Uint8Array): void {
    if (this.#buffered + bytes.length > bufferBytes || bytes.length > copiedBytesMax) this.#flush()
    if (bytes.length > copiedBytesMax) this.#write(bytes)
    else {
      this.#buffer.set(bytes, this.#buffered)
      this.#buffered += bytes.length
    }
  }

  /** Appends the SHA-1, makes the file durable and closes it. Resolves to the SHA-1. */
  async finish(): Promise<Uint8Array> {
    this.#flush()
    const checksum = this.#sha1.digest()
    this.#disk.write(this.#fd, checksum, this.#written)
    this.#written += checksum.length
    await this.#disk.sync(this.#fd)
    this.close()
    return checksum
  }

  close(): void {
    if (this.#open) this.#disk.close(this.#fd)
    this.#open = false
  }

  #flush(): void {
    if (this.#buffered > 0) this.#write(this.#buffer.subarray(0, this.#buffered))
    this.#buffered = 0
  }

  #write(bytes: Uint8Array): void {
    this.#sha1.update(bytes)
    this.#disk.write(this.#fd, bytes, this.#written)
    this.#written += bytes.length
  }
}

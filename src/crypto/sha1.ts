// SHA-1, which names git's objects and closes its files. It detects damage; no security of the
// store rests on it (FORMAT §0.7). Must not import libsodium: the pack worker loads this file, and
// libsodium would more than double its start time.

import { Bytes } from '../platform/bytes.ts'
import { hexDigestOf, startHash } from '../platform/crypto.ts'

export class Sha1 {
  readonly #hash = startHash('sha1')

  update(bytes: Uint8Array): this {
    this.#hash.update(bytes)
    return this
  }

  /** 20 bytes. The object cannot be used afterwards. */
  digest(): Uint8Array {
    return new Uint8Array(this.#hash.digest())
  }
}

/** Most objects fit, and need no new buffer to be hashed. */
const scratch = Bytes.allocUnsafeSlow(8192)

/** The name of a git object: SHA-1 of "<type> <length>\0<body>", as 40 hex digits. */
export function gitHash(type: string, body: Uint8Array): string {
  const header = `${type} ${body.length}\0`
  const length = header.length + body.length
  if (length > scratch.length) {
    return startHash('sha1').update(header).update(body).digest('hex')
  }
  scratch.write(header, 'latin1')
  scratch.set(body, header.length)
  return hexDigestOf('sha1', scratch.subarray(0, length))
}

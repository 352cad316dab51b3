// SHA-1, as git names objects and closes its files with it. It detects damage; no security of the
// store rests on it (FORMAT §0.7). Must not import libsodium: the pack worker loads this file, and
// libsodium would more than double its start.

import { createHash, hash } from 'node:crypto'

/** SHA-1 of everything given to `update`, in order. */
export class Sha1 {
  readonly #hash = createHash('sha1')

  update(bytes: Uint8Array): this {
    this.#hash.update(bytes)
    return this
  }

  /** 20 bytes. Ends the use of this object. */
  digest(): Uint8Array {
    return new Uint8Array(this.#hash.digest())
  }
}

/** The name of a git object: SHA-1 of "<type> <length>\0<body>", as 40 hex digits. */
export function gitHash(type: string, body: Uint8Array): string {
  const header = Buffer.from(`${type} ${body.length}\0`, 'latin1')
  return hash('sha1', Buffer.concat([header, body]), 'hex')
}

// The packs of a store as one pack, copied as they are while it is sent: the entries of each follow
// those of the one before, so that every delta keeps its distance. Must only be given packs that
// hold nothing but what is to be sent, each object once.

import { equalBytes } from '../../bytes.ts'
import { Sha1 } from '../../crypto/sha1.ts'
import { KIBIBYTE } from '../../limits.ts'
import type { WholePack } from '../exchange.ts'
import {
  corruptPack,
  encodePackHeader,
  packHeaderBytes,
  packTrailerBytes,
} from '../pack/pack-entry.ts'
import type { Pack } from '../pack/pack.ts'

const chunkBytes = 128 * KIBIBYTE

export class WholePacks implements WholePack {
  readonly commits: number
  readonly #packs: readonly Pack[]

  /** Takes ownership of the packs. */
  constructor(packs: readonly Pack[], commits: number) {
    this.#packs = packs
    this.commits = commits
  }

  get objects(): number {
    return this.#packs.reduce((sum, { index }) => sum + index.count, 0)
  }

  get bytes(): number {
    const ends = packHeaderBytes + packTrailerBytes
    return this.#packs.reduce((sum, { bytes }) => sum + bytes - ends, ends)
  }

  /** Throws `pack_corrupt` before the receiver could take the pack for whole. */
  async *chunks(): AsyncGenerator<Uint8Array> {
    const sha1 = new Sha1()
    const header = encodePackHeader(this.objects)
    sha1.update(header)
    yield header
    for (const pack of this.#packs) {
      for (const chunk of entriesOf(pack)) {
        sha1.update(chunk)
        yield chunk
      }
    }
    yield sha1.digest()
  }

  close(): void {
    for (const pack of this.#packs) pack.close()
  }
}

/** The bytes between header and trailer. Throws `pack_corrupt` if they do not match the trailer. */
function* entriesOf(pack: Pack): Generator<Uint8Array> {
  const sha1 = new Sha1().update(pack.readHeader())
  const end = pack.bytes - packTrailerBytes
  for (let at = packHeaderBytes; at < end;) {
    const chunk = pack.readRaw(at, chunkBytes)
    if (chunk.length === 0) throw corruptPack('it ends too early')
    sha1.update(chunk)
    at += chunk.length
    yield chunk
  }
  if (!equalBytes(sha1.digest(), pack.index.packChecksum)) {
    throw corruptPack('its checksum is wrong')
  }
}

// What this device saw last on each remote, sealed and outside the store, beside the anchor: a
// remote that shows less than that was rolled back (FORMAT §9). Losing the file forgets it, no
// more.

import { hasCode } from '../../errors.ts'
import { fromHex, toHex } from '../../bytes.ts'
import type { Oid } from '../../git/object.ts'
import { readCache, writeCache } from '../sealed-cache.ts'
import type { CacheOwner, CachePlace } from '../sealed-cache.ts'

/** The newest verified head that a remote has shown. */
export interface SeenHead {
  readonly oid: Oid
  readonly height: number
  readonly record: Uint8Array
  /** What the remote has below this height it has as it is here; all of it, if left out. */
  readonly intactBelow?: number | undefined
}

interface Entry {
  readonly url: string
  readonly oid: Oid
  readonly height: number
  /** Hex. */
  readonly record: string
  readonly intactBelow?: number | undefined
}

interface SeenFile {
  readonly version: 1
  readonly remotes: Readonly<Record<string, Entry>>
}

export class SeenRemotes {
  readonly #owner: CacheOwner
  readonly #place: CachePlace

  constructor(owner: CacheOwner, path: string) {
    this.#owner = owner
    this.#place = { path, role: 'remotes', generation: 0 }
  }

  /** Undefined for a remote that was never seen, or had another URL then. */
  find(name: string, url: string): SeenHead | undefined {
    const entry = this.#read().remotes[name]
    if (entry?.url !== url) return undefined
    const { oid, height, record, intactBelow } = entry
    return { oid, height, record: fromHex(record), intactBelow }
  }

  /** Call under the writer lock. */
  async note(name: string, url: string, head: SeenHead): Promise<void> {
    const { remotes } = this.#read()
    const { oid, height, intactBelow } = head
    const entry: Entry = { url, oid, height, record: toHex(head.record), intactBelow }
    const file: SeenFile = { version: 1, remotes: { ...remotes, [name]: entry } }
    await writeCache(this.#owner, this.#place, file)
  }

  /** A redaction has made our commits from a height on again. Call under the writer lock. */
  async noteRewrite(height: number): Promise<void> {
    const { remotes } = this.#read()
    if (Object.keys(remotes).length === 0) return
    const changed = Object.entries(remotes).map(([name, entry]): [string, Entry] => {
      const intactBelow = Math.min(entry.intactBelow ?? height, height)
      return [name, { ...entry, intactBelow }]
    })
    const file: SeenFile = { version: 1, remotes: Object.fromEntries(changed) }
    await writeCache(this.#owner, this.#place, file)
  }

  #read(): SeenFile {
    try {
      return readCache<SeenFile>(this.#owner, this.#place, 1) ?? { version: 1, remotes: {} }
    } catch (error) {
      if (hasCode(error, 'upgrade_required')) throw error
      // Of another identity or damaged: as good as none, since the anchor still stands.
      return { version: 1, remotes: {} }
    }
  }
}

// What this device saw last on each remote, sealed and outside the store, beside the anchor: a
// remote that shows less than that was rolled back (FORMAT §9). And what a sync has left here as
// late, which nobody has to show any more (FORMAT §7.4). Losing the file forgets it, no more.

import { fromHex, toHex } from '../../bytes.ts'
import { hasCode } from '../../errors.ts'
import type { Oid } from '../../git/objects/object.ts'
import { type CacheOwner, type CachePlace, readCache, writeCache } from './sealed-cache.ts'

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

/** What a sync leaves: changes of removed devices that were taken over before this was known. */
export interface LeftLate {
  /** Of every commit that is left, newest first. */
  readonly records: readonly Uint8Array[]
  /** The newest commit that stays. */
  readonly common: SeenHead
  /** The head that they are left for. */
  readonly head: RecordAt
}

interface RecordAt {
  readonly height: number
  readonly record: Uint8Array
}

interface LeftEntry {
  /** Hex, as all of these. */
  readonly records: readonly string[]
  readonly head: { readonly height: number; readonly record: string }
}

interface SeenFile {
  readonly version: 1
  readonly remotes: Readonly<Record<string, Entry>>
  /** Only what the last syncs have left: who has seen older ones last is told of a rollback. */
  readonly left?: LeftEntry | undefined
  readonly rewrites?: Rewrites | undefined
  /** Heads whose objects are here, or on their way, without a verdict on them. Oldest first. */
  readonly fetches?: readonly Oid[] | undefined
}

/** How often our commits were made again, and the newest heights from which on. */
interface Rewrites {
  readonly count: number
  readonly heights: readonly number[]
}

const nothingSeen: SeenFile = { version: 1, remotes: {} }

/** So many records of late commits are remembered: 64 KiB. */
const LEFT_MAX = 1024
/** More redactions than this beside one sync are taken for one from genesis on. */
const REWRITES_MAX = 64
/** So many syncs that were cut off are remembered. */
const FETCHES_MAX = 64

export class RemoteStateFile {
  readonly #owner: CacheOwner
  readonly #place: CachePlace

  constructor(owner: CacheOwner, path: string) {
    this.#owner = owner
    this.#place = { path, role: 'remotes', generation: 0 }
  }

  /** Undefined for a remote that was never seen, or had another URL then. */
  find(name: string, url: string): SeenHead | undefined {
    const { remotes } = this.#read()
    const entry = remotes[name]
    if (entry?.url !== url) return undefined
    const { oid, height, record, intactBelow } = entry
    return { oid, height, record: fromHex(record), intactBelow }
  }

  /** The head that a record was left for, with all else that is left; undefined if it was not. */
  findLeftFor(record: Uint8Array): RecordAt | undefined {
    const { left } = this.#read()
    if (!isLeft(left, toHex(record))) return undefined
    return { height: left.head.height, record: fromHex(left.head.record) }
  }

  /** Before the branch leaves them. Call under the writer lock. */
  async noteLeft({ records, common, head }: LeftLate): Promise<void> {
    const { left, remotes, ...others } = this.#read()
    const news = records.map(toHex)
    const { oid, height } = common
    const stays = { oid, height, record: toHex(common.record) }
    const lowered = Object.entries(remotes).map(([name, entry]): [string, Entry] => {
      return [name, news.includes(entry.record) ? { url: entry.url, ...stays } : entry]
    })
    await this.#write({
      ...others,
      remotes: Object.fromEntries(lowered),
      left: {
        records: [...news, ...(left?.records ?? [])].slice(0, LEFT_MAX),
        head: { height: head.height, record: toHex(head.record) },
      },
    })
  }

  /** A mark for `note`: what is rewritten from then on, that will know of. */
  mark(): number {
    return this.#read().rewrites?.count ?? 0
  }

  /**
   * What is said of the head was so at the mark; other processes may have redacted since. Call
   * under the writer lock.
   */
  async note(name: string, url: string, head: SeenHead, mark?: number): Promise<void> {
    const file = this.#read()
    const { oid, height } = head
    const since = mark === undefined ? [] : rewrittenSince(file, mark)
    const known = head.intactBelow === undefined ? [] : [head.intactBelow]
    const limits = [...known, ...since]
    const intactBelow = limits.length === 0 ? undefined : Math.min(...limits)
    const entry: Entry = { url, oid, height, record: toHex(head.record), intactBelow }
    await this.#write({ ...file, remotes: { ...file.remotes, [name]: entry } })
  }

  /** A redaction has made our commits from a height on again. Call under the writer lock. */
  async noteRewrite(height: number): Promise<void> {
    const file = this.#read()
    const remotes = Object.entries(file.remotes)
    const { count = 0, heights = [] } = file.rewrites ?? {}
    const rewrites = { count: count + 1, heights: [...heights, height].slice(-REWRITES_MAX) }
    const changed = remotes.map(([name, entry]): [string, Entry] => {
      const intactBelow = Math.min(entry.intactBelow ?? height, height)
      return [name, { ...entry, intactBelow }]
    })
    await this.#write({ ...file, rewrites, remotes: Object.fromEntries(changed) })
  }

  /** Of which it is not known what became of them. */
  fetches(): readonly Oid[] {
    return this.#read().fetches ?? []
  }

  /** Before a head is fetched. Call under the writer lock. */
  async noteFetch(head: Oid): Promise<void> {
    const file = this.#read()
    const { fetches = [] } = file
    if (fetches.includes(head)) return
    await this.#write({ ...file, fetches: [...fetches, head].slice(-FETCHES_MAX) })
  }

  /** Call under the writer lock. */
  async forgetFetches(heads: readonly Oid[]): Promise<void> {
    const file = this.#read()
    const fetches = (file.fetches ?? []).filter((head) => !heads.includes(head))
    await this.#write({ ...file, fetches })
  }

  #read(): SeenFile {
    try {
      return readCache<SeenFile>(this.#owner, this.#place, 1) ?? nothingSeen
    } catch (error) {
      if (hasCode(error, 'upgrade_required')) throw error
      // Of another identity or damaged: as good as none, since the anchor still stands.
      return nothingSeen
    }
  }

  #write(file: SeenFile): Promise<void> {
    return writeCache(this.#owner, this.#place, file)
  }
}

/** Heights from which on commits were made again. */
function rewrittenSince({ rewrites }: SeenFile, mark: number): readonly number[] {
  const { count = 0, heights = [] } = rewrites ?? {}
  const news = count - mark
  if (news < 0 || news > heights.length) return [0]
  return news === 0 ? [] : heights.slice(-news)
}

function isLeft(left: LeftEntry | undefined, record: string): left is LeftEntry {
  return left?.records.includes(record) === true
}

// What each remote has last shown to this device, sealed and outside the store, next to the anchor:
// a remote that lacks it was rolled back (FORMAT §9). Also the records that syncs dropped as late
// and that no remote has to show (FORMAT §7.4). Losing the file only loses these checks.

import { fromHex, toHex } from '../../bytes.ts'
import { hasCode } from '../../errors.ts'
import type { Oid } from '../../git/objects/object.ts'
import { type CacheOwner, type CachePlace, readCache, writeCache } from './sealed-cache.ts'

/** The newest verified head that a remote has shown. */
export interface SeenHead {
  readonly oid: Oid
  readonly height: number
  readonly record: Uint8Array
  /** The remote has the same commits as this store below this height; undefined: all of them. */
  readonly intactBelow?: number | undefined
  /** By this machine's clock, ms since 1970; undefined for heads that an older version noted. */
  readonly seenAt?: number | undefined
}

interface StoredRemote {
  readonly url: string
  readonly oid: Oid
  readonly height: number
  /** Hex. */
  readonly record: string
  readonly intactBelow?: number | undefined
  readonly seenAt?: number | undefined
}

/** Late records that a sync drops: accepted before the removal of their device was known. */
export interface LeftLate {
  /** The hash of every dropped record, newest first. */
  readonly records: readonly Uint8Array[]
  /** The newest commit that is kept. */
  readonly common: SeenHead
  /** The head that replaces them. */
  readonly head: RecordAt
}

export interface RecordAt {
  readonly height: number
  readonly record: Uint8Array
}

interface LeftEntry {
  /** Record hashes in hex, newest first. */
  readonly records: readonly string[]
  readonly head: { readonly height: number; readonly record: string }
}

interface SeenFile {
  readonly version: 1
  readonly remotes: Readonly<Record<string, StoredRemote>>
  /**
   * The last dropped records. With older ones as its last state a remote is treated as rolled back.
   */
  readonly left?: LeftEntry | undefined
  readonly rewrites?: Rewrites | undefined
  /** Heads that are accepted and perhaps not taken over yet, oldest first. */
  readonly fetches?: readonly Oid[] | undefined
  /** The remote that changes of the keyring are pushed to, if a user has chosen it. */
  readonly membership?: string | undefined
  /** The newest keyring record made here of which that remote may know nothing. */
  readonly pending?: { readonly height: number; readonly record: string } | undefined
  /** The devices, `dev_…`, to remove once that remote can be reached. */
  readonly removals?: readonly string[] | undefined
}

interface NoteOptions {
  readonly mark?: number | undefined
  readonly settled?: readonly Oid[] | undefined
}

/** How often our commits were rewritten, and from which heights the last times. */
interface Rewrites {
  readonly count: number
  readonly heights: readonly number[]
}

const emptyFile: SeenFile = { version: 1, remotes: {} }

/** At most this many dropped records are kept: 64 KiB. */
const LEFT_MAX = 1024
/** More rewrites than this during one sync are treated as one from genesis on. */
const REWRITES_MAX = 64
/** At most this many interrupted fetches are kept. */
const FETCHES_MAX = 64

export class RemoteStateFile {
  readonly #owner: CacheOwner
  readonly #place: CachePlace

  constructor(owner: CacheOwner, path: string) {
    this.#owner = owner
    this.#place = { path, role: 'remotes', generation: 0 }
  }

  /** The head last shown; undefined for an unknown remote or one with another URL. */
  find(name: string, url: string): SeenHead | undefined {
    const { remotes } = this.#read()
    const entry = remotes[name]
    if (entry?.url !== url) return undefined
    const { oid, height, record, intactBelow, seenAt } = entry
    return { oid, height, record: fromHex(record), intactBelow, seenAt }
  }

  /** The remotes that have shown a head. */
  list(): readonly { readonly name: string; readonly url: string }[] {
    return Object.entries(this.#read().remotes).map(([name, { url }]) => ({ name, url }))
  }

  /** The head that a record was dropped for; undefined if it was not dropped. */
  findLeftFor(record: Uint8Array): RecordAt | undefined {
    const { left } = this.#read()
    if (!isLeft(left, toHex(record))) return undefined
    return { height: left.head.height, record: fromHex(left.head.record) }
  }

  /** Notes dropped records before the branch moves off them. Call under the writer lock. */
  async noteLeft({ records, common, head }: LeftLate): Promise<void> {
    const { left, remotes, ...others } = this.#read()
    const dropped = records.map(toHex)
    const { oid, height } = common
    const kept = { oid, height, record: toHex(common.record) }
    const lowered = Object.entries(remotes).map(([name, entry]): [string, StoredRemote] => {
      const { url, seenAt } = entry
      return [name, dropped.includes(entry.record) ? { url, seenAt, ...kept } : entry]
    })
    await this.#write({
      ...others,
      remotes: Object.fromEntries(lowered),
      left: {
        records: [...dropped, ...(left?.records ?? [])].slice(0, LEFT_MAX),
        head: { height: head.height, record: toHex(head.record) },
      },
    })
  }

  /** A mark for `note`, which takes later rewrites into account. */
  mark(): number {
    return this.#read().rewrites?.count ?? 0
  }

  /**
   * Notes the head that a remote has shown, as it was at the mark; other processes may have
   * redacted since. Removes settled heads from `fetches`. Call under the writer lock.
   */
  async note(
    name: string,
    url: string,
    head: SeenHead,
    { mark, settled = [] }: NoteOptions = {},
  ): Promise<void> {
    const file = withoutFetches(this.#read(), settled)
    const { oid, height, seenAt } = head
    const since = mark === undefined ? [] : rewrittenSince(file, mark)
    const known = head.intactBelow === undefined ? [] : [head.intactBelow]
    const limits = [...known, ...since]
    const intactBelow = limits.length === 0 ? undefined : Math.min(...limits)
    const record = toHex(head.record)
    const entry: StoredRemote = { url, oid, height, record, intactBelow, seenAt }
    await this.#write({ ...file, remotes: { ...file.remotes, [name]: entry } })
  }

  /** Notes that a redaction rewrote our commits from a height on. Call under the writer lock. */
  async noteRewrite(height: number): Promise<void> {
    const file = this.#read()
    const remotes = Object.entries(file.remotes)
    const { count = 0, heights = [] } = file.rewrites ?? {}
    const rewrites = { count: count + 1, heights: [...heights, height].slice(-REWRITES_MAX) }
    const changed = remotes.map(([name, entry]): [string, StoredRemote] => {
      const intactBelow = Math.min(entry.intactBelow ?? height, height)
      return [name, { ...entry, intactBelow }]
    })
    await this.#write({ ...file, rewrites, remotes: Object.fromEntries(changed) })
  }

  /** The heads that were accepted and perhaps not taken over. */
  fetches(): readonly Oid[] {
    return this.#read().fetches ?? []
  }

  /** Notes heads before they are accepted. Call under the writer lock. */
  async noteFetches(heads: readonly Oid[]): Promise<void> {
    const file = this.#read()
    const fetches = new Set([...(file.fetches ?? []), ...heads])
    await this.#write({ ...file, fetches: [...fetches].slice(-FETCHES_MAX) })
  }

  /** Removes heads from `fetches`. Call under the writer lock. */
  async forgetFetches(heads: readonly Oid[]): Promise<void> {
    await this.#write(withoutFetches(this.#read(), heads))
  }

  /** The name of the remote that a user has chosen for changes of the keyring. */
  membership(): string | undefined {
    return this.#read().membership
  }

  /** Call under the writer lock. */
  async chooseMembership(name: string | undefined): Promise<void> {
    await this.#write({ ...this.#read(), membership: name })
  }

  /** A keyring record made here that the membership remote may not have. */
  pending(): RecordAt | undefined {
    const { pending } = this.#read()
    return pending && { height: pending.height, record: fromHex(pending.record) }
  }

  /** Notes a keyring record before the branch moves to it. Call under the writer lock. */
  async notePending(at: RecordAt | undefined): Promise<void> {
    const pending = at && { height: at.height, record: toHex(at.record) }
    await this.#write({ ...this.#read(), pending })
  }

  /** The devices, `dev_…`, to remove once the membership remote can be reached. */
  removals(): readonly string[] {
    return this.#read().removals ?? []
  }

  /** Replaces that list. Call under the writer lock. */
  async noteRemovals(removals: readonly string[]): Promise<void> {
    await this.#write({ ...this.#read(), removals })
  }

  #read(): SeenFile {
    try {
      return readCache<SeenFile>(this.#owner, this.#place, 1) ?? emptyFile
    } catch (error) {
      if (hasCode(error, 'upgrade_required')) throw error
      // Of another identity or damaged: treated as missing, since the anchor remains.
      return emptyFile
    }
  }

  #write(file: SeenFile): Promise<void> {
    return writeCache(this.#owner, this.#place, file)
  }
}

function withoutFetches(file: SeenFile, heads: readonly Oid[]): SeenFile {
  return { ...file, fetches: (file.fetches ?? []).filter((head) => !heads.includes(head)) }
}

/** The heights from which on commits were rewritten since the mark. */
function rewrittenSince({ rewrites }: SeenFile, mark: number): readonly number[] {
  const { count = 0, heights = [] } = rewrites ?? {}
  const newCount = count - mark
  if (newCount < 0 || newCount > heights.length) return [0]
  return newCount === 0 ? [] : heights.slice(-newCount)
}

function isLeft(left: LeftEntry | undefined, record: string): left is LeftEntry {
  return left?.records.includes(record) === true
}

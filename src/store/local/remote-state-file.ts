// What each remote has last shown to this device, sealed and outside the store, next to the anchor:
// a remote that lacks it was rolled back (FORMAT §9). Also the records that syncs dropped as late
// and that no remote has to show (FORMAT §7.4). Losing the file only loses these checks.

import { Gate } from '../../async.ts'
import { fromHex, toHex } from '../../bytes.ts'
import { type ErrorCode, type ErrorDetails, hasCode } from '../../errors.ts'
import type { Oid } from '../../git/objects/object.ts'
import { type OwnFiles, readOwn, writeOwn } from './own-files.ts'
import { hasNoValue, type SealOwner } from './sealed-cache.ts'

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

/** The state of the store that the address of a remote named when a user gave it (FORMAT §1.8). */
export interface BoundState {
  readonly url: string
  /** 32 hex digits. */
  readonly state: string
  /** Whether the history here has had it since. */
  readonly isMet: boolean
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
  /** In the clone of a grant's holder: a sync has verified that the grant has ended. */
  readonly isGrantOver?: boolean | undefined
  /** The last ones, oldest first. */
  readonly refused?: readonly RefusedEntry[] | undefined
  /** By the name of the remote. */
  readonly ignoredRefs?: Readonly<Record<string, ToldRefs>> | undefined
  /** By the name of a remote. */
  readonly bound?: Readonly<Record<string, BoundState>> | undefined
  /** The only remote, and the head that it shows, once this clone has begun anew from there. */
  readonly anew?: { readonly name: string; readonly entry: StoredRemote } | undefined
}

/** The refs of a remote that are ignored, as a user was told. */
interface ToldRefs {
  readonly url: string
  readonly count: number
}

/** A head that was refused for good. */
export interface RefusedEntry {
  readonly name: string
  readonly url: string
  readonly head: Oid
  /** What else the judgement depends on. */
  readonly basis: string
  readonly code: ErrorCode
  readonly message: string
  readonly details: ErrorDetails
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
/** Limits of the notes of refused heads, of all remotes, and of the message in each. */
const REFUSED_MAX = 16
const MESSAGE_MAX = 1000

export class RemoteStateFile {
  readonly #owner: SealOwner
  readonly #files: OwnFiles
  /** A change is made of the version that it has read. */
  readonly #gate = new Gate()

  constructor(owner: SealOwner, files: OwnFiles) {
    this.#owner = owner
    this.#files = files
  }

  /** The head last shown; undefined for an unknown remote or one with another URL. */
  async find(name: string, url: string): Promise<SeenHead | undefined> {
    const { remotes } = await this.#read()
    const entry = remotes[name]
    if (entry?.url !== url) return undefined
    const { oid, height, record, intactBelow, seenAt } = entry
    return { oid, height, record: fromHex(record), intactBelow, seenAt }
  }

  /** The remotes that have shown a head. */
  async list(): Promise<readonly { readonly name: string; readonly url: string }[]> {
    return Object.entries((await this.#read()).remotes).map(([name, { url }]) => ({ name, url }))
  }

  /** The head that a record was dropped for; undefined if it was not dropped. */
  async findLeftFor(record: Uint8Array): Promise<RecordAt | undefined> {
    const { left } = await this.#read()
    if (!isLeft(left, toHex(record))) return undefined
    return { height: left.head.height, record: fromHex(left.head.record) }
  }

  /** Notes dropped records before the branch moves off them. Call under the writer lock. */
  noteLeft({ records, common, head }: LeftLate): Promise<void> {
    const dropped = records.map(toHex)
    const { oid, height } = common
    const kept = { oid, height, record: toHex(common.record) }
    return this.#change(({ left, remotes, ...others }) => {
      const lowered = Object.entries(remotes).map(([name, entry]): [string, StoredRemote] => {
        const { url, seenAt } = entry
        return [name, dropped.includes(entry.record) ? { url, seenAt, ...kept } : entry]
      })
      return {
        ...others,
        remotes: Object.fromEntries(lowered),
        left: {
          records: [...dropped, ...(left?.records ?? [])].slice(0, LEFT_MAX),
          head: { height: head.height, record: toHex(head.record) },
        },
      }
    })
  }

  /** A mark for `note`, which takes later rewrites into account. */
  async mark(): Promise<number> {
    return (await this.#read()).rewrites?.count ?? 0
  }

  /**
   * Notes the head that a remote has shown, as it was at the mark; other processes may have
   * redacted since. Removes settled heads from `fetches`. Call under the writer lock.
   */
  note(
    name: string,
    url: string,
    head: SeenHead,
    { mark, settled = [] }: NoteOptions = {},
  ): Promise<void> {
    const { oid, height, seenAt } = head
    const record = toHex(head.record)
    const known = head.intactBelow === undefined ? [] : [head.intactBelow]
    return this.#change((before) => {
      const file = withoutFetches(before, settled)
      const since = mark === undefined ? [] : rewrittenSince(file, mark)
      const limits = [...known, ...since]
      const intactBelow = limits.length === 0 ? undefined : Math.min(...limits)
      const entry: StoredRemote = { url, oid, height, record, intactBelow, seenAt }
      return { ...file, remotes: { ...file.remotes, [name]: entry } }
    })
  }

  /** Notes that a redaction rewrote our commits from a height on. Call under the writer lock. */
  noteRewrite(height: number): Promise<void> {
    return this.#change((file) => {
      const remotes = Object.entries(file.remotes)
      const { count = 0, heights = [] } = file.rewrites ?? {}
      const rewrites = { count: count + 1, heights: [...heights, height].slice(-REWRITES_MAX) }
      const changed = remotes.map(([name, entry]): [string, StoredRemote] => {
        const intactBelow = Math.min(entry.intactBelow ?? height, height)
        return [name, { ...entry, intactBelow }]
      })
      return { ...file, rewrites, remotes: Object.fromEntries(changed) }
    })
  }

  /** Notes the head from which this clone begins anew. Under the writer lock. */
  noteAnew(name: string, url: string, { oid, height, record, seenAt }: SeenHead): Promise<void> {
    const entry = { url, oid, height, record: toHex(record), seenAt }
    return this.#change((file) => ({ ...file, anew: { name, entry } }))
  }

  /**
   * Ends it. If the branch has moved, no other head of a remote is known: the history here does not
   * tell what they contain. Under the writer lock.
   */
  settleAnew(hasMoved: boolean): Promise<void> {
    return this.#change(({ anew, ...file }) => {
      if (anew === undefined || !hasMoved) return file
      return { ...file, remotes: { [anew.name]: anew.entry } }
    })
  }

  /** The heads that were accepted and perhaps not taken over. */
  async fetches(): Promise<readonly Oid[]> {
    return (await this.#read()).fetches ?? []
  }

  /** Notes heads before they are accepted. Call under the writer lock. */
  noteFetches(heads: readonly Oid[]): Promise<void> {
    return this.#change((file) => {
      const fetches = new Set([...(file.fetches ?? []), ...heads])
      return { ...file, fetches: [...fetches].slice(-FETCHES_MAX) }
    })
  }

  /** Removes heads from `fetches`. Call under the writer lock. */
  forgetFetches(heads: readonly Oid[]): Promise<void> {
    return this.#change((file) => withoutFetches(file, heads))
  }

  /** The name of the remote that a user has chosen for changes of the keyring. */
  async membership(): Promise<string | undefined> {
    return (await this.#read()).membership
  }

  /** Call under the writer lock. */
  chooseMembership(name: string | undefined): Promise<void> {
    return this.#change((file) => ({ ...file, membership: name }))
  }

  /** A keyring record made here that the membership remote may not have. */
  async pending(): Promise<RecordAt | undefined> {
    const { pending } = await this.#read()
    return pending && { height: pending.height, record: fromHex(pending.record) }
  }

  /** Notes a keyring record before the branch moves to it. Call under the writer lock. */
  notePending(at: RecordAt | undefined): Promise<void> {
    const pending = at && { height: at.height, record: toHex(at.record) }
    return this.#change((file) => ({ ...file, pending }))
  }

  /** The devices, `dev_…`, to remove once the membership remote can be reached. */
  async removals(): Promise<readonly string[]> {
    return (await this.#read()).removals ?? []
  }

  /** Changes that list. Call under the writer lock. */
  noteRemovals(change: (before: readonly string[]) => readonly string[]): Promise<void> {
    return this.#change((file) => ({ ...file, removals: change(file.removals ?? []) }))
  }

  /** Whether a sync has verified that the grant of this clone has ended. */
  async isGrantOver(): Promise<boolean> {
    return (await this.#read()).isGrantOver === true
  }

  /** Call under the writer lock. */
  noteGrantOver(): Promise<void> {
    return this.#change((file) => ({ ...file, isGrantOver: true }))
  }

  /** The note of a refused head. */
  async findRefusal(name: string, url: string, head: Oid): Promise<RefusedEntry | undefined> {
    return (await this.#read()).refused?.find((one) => {
      return one.name === name && one.url === url && one.head === head
    })
  }

  /** Call under the writer lock. */
  noteRefusal(entry: RefusedEntry): Promise<void> {
    const kept = { ...entry, message: entry.message.slice(0, MESSAGE_MAX) }
    return this.#change((file) => {
      const others = (file.refused ?? []).filter(({ name, head }) => {
        return name !== entry.name || head !== entry.head
      })
      return { ...file, refused: [...others, kept].slice(-REFUSED_MAX) }
    })
  }

  /** How many refs of a remote are ignored, as a user was told; 0 if never. */
  async ignoredRefs(name: string, url: string): Promise<number> {
    const told = (await this.#read()).ignoredRefs?.[name]
    return told?.url === url ? told.count : 0
  }

  /** Call under the writer lock. */
  noteIgnoredRefs(name: string, url: string, count: number): Promise<void> {
    return this.#change((file) => {
      const { [name]: _, ...others } = file.ignoredRefs ?? {}
      const ignoredRefs = count === 0 ? others : { ...others, [name]: { url, count } }
      return { ...file, ignoredRefs }
    })
  }

  /** The state that the address of a remote has named; undefined if it had another URL. */
  async findBound(name: string, url: string): Promise<BoundState | undefined> {
    const bound = (await this.#read()).bound?.[name]
    return bound?.url === url ? bound : undefined
  }

  /** Notes it, or forgets what an earlier address has named. Call under the writer lock. */
  bind(name: string, bound: BoundState | undefined): Promise<void> {
    return this.#change((file) => {
      const { [name]: _, ...others } = file.bound ?? {}
      return { ...file, bound: bound === undefined ? others : { ...others, [name]: bound } }
    })
  }

  /** Notes that the history here has that state, unless another address was given since. */
  noteMet(name: string, { url, state }: BoundState): Promise<void> {
    return this.#change((file) => {
      const now = file.bound?.[name]
      if (now?.url !== url || now.state !== state) return file
      return { ...file, bound: { ...file.bound, [name]: { url, state, isMet: true } } }
    })
  }

  #read(): Promise<SeenFile> {
    return this.#gate.run(() => this.#readNow())
  }

  async #readNow(): Promise<SeenFile> {
    try {
      return (await readOwn<SeenFile>(this.#owner, this.#files, 'remotes', 1)) ?? emptyFile
    } catch (error) {
      // An engine that does not answer has lost nothing.
      const isUnanswered = this.#files.isShared && !hasNoValue(error)
      if (isUnanswered || hasCode(error, 'upgrade_required')) throw error
      // Of another identity or damaged: treated as missing, since the anchor remains.
      return emptyFile
    }
  }

  /** Again, on the newest file, if another server was faster. */
  #change(next: (file: SeenFile) => SeenFile): Promise<void> {
    return this.#gate.run(async () => {
      for (;;) {
        const file = next(await this.#readNow())
        if (await writeOwn(this.#owner, this.#files, 'remotes', file)) return
      }
    })
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

// Which commit a damaged store should have as its head: the newest one that its own files name and
// that verifies, or one of another copy that contains it. A head is taken over only if nothing that
// is known here, redactions above all, is missing from it.

import type { WorkOptions } from '../../async.ts'
import { hasCode, StoreError } from '../../errors.ts'
import type { Oid } from '../../git/objects/object.ts'
import type { Identity } from '../../keys/identity.ts'
import { atOnce } from '../../time-slice.ts'
import { openHeadKeyring } from '../access/authority.ts'
import { containsRecord } from '../commits/ancestors.ts'
import { decodeCommit, type Epochs, readCommitBytes } from '../commits/decoded-commit.ts'
import type { ObjectSource } from '../snapshot/git-reads.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import { findCommit } from '../sync/reach.ts'
import { isVerdict } from '../sync/rejected-head.ts'
import { readForeignStoreId } from '../sync/remote-head.ts'
import { verifyHistory } from '../verify/verify.ts'

/** So many commits are verified at most: each may cost to verify all below it. */
const TRIED_MAX = 32

/** A head that verifies from genesis. */
export interface SoundHead {
  readonly snapshot: Snapshot
  readonly epochs: Epochs
  readonly commits: number
}

export interface KnownHeads {
  /** Where the branch is; undefined if its file does not tell. */
  readonly branch: Oid | undefined
  /** Commits that this store's own files name as heads, or that only its journal holds. */
  readonly own: readonly Oid[]
  /** Where remotes were, and the heads of the copy to mend from. */
  readonly others: readonly Oid[]
  /** Every commit that can be read here; asked for only if no other leads to a history. */
  readonly all: () => Iterable<Oid>
}

export interface ChosenHead {
  readonly oid: Oid
  /** Undefined for one that does not verify, and to which there is no alternative. */
  readonly sound: SoundHead | undefined
  /** Why not. */
  readonly verdict: StoreError | undefined
}

export interface HeadSource {
  readonly objects: ObjectSource
  readonly storeId: string
  readonly identity: Identity
}

export class HeadSearch {
  readonly #source: HeadSource
  readonly #options: WorkOptions
  readonly #verified: Map<Oid, SoundHead | StoreError> = new Map()
  readonly #findRedactions: (epochs: Epochs) => ReadonlySet<string>
  #redactions: ReadonlySet<string> | undefined
  /** Commits below which all others can be read. */
  readonly #whole: Set<Oid> = new Set()
  #tried = 0
  /** Whether a head was left for what it brings back. */
  #lacksRedactions = false

  /** `findRedactions` gives the versions of which something here says that they were redacted. */
  constructor(
    source: HeadSource,
    findRedactions: (epochs: Epochs) => ReadonlySet<string>,
    options: WorkOptions,
  ) {
    this.#source = source
    this.#findRedactions = findRedactions
    this.#options = options
  }

  /** Throws `object_missing` where nothing leads to a history, or `redaction_undone`. */
  async choose(known: KnownHeads): Promise<ChosenHead> {
    const start = await this.#start(known)
    const own = await this.#newest(start, known.own)
    const oid = await this.#newest(own, known.others)
    const result = await this.verify(oid)
    const failed = result instanceof StoreError
    return { oid, sound: failed ? undefined : result, verdict: failed ? result : undefined }
  }

  /** What a head is, from genesis; the refusal instead of one that is refused. */
  async verify(head: Oid): Promise<SoundHead | StoreError> {
    const known = this.#verified.get(head)
    if (known !== undefined) return known
    const found = await this.#verify(head).catch((error: unknown) => {
      if (isVerdict(error) || hasCode(error, 'pack_corrupt')) return error
      throw error
    })
    this.#verified.set(head, found)
    return found
  }

  /** Whether the history of `newer` has all of `older`, by records: a redaction renames commits. */
  contains(newer: Oid, older: Oid): boolean {
    if (newer === older) return true
    const [above, below] = [this.#heightOf(newer), this.#heightOf(older)]
    if (above === undefined || below === undefined || above < below) return false
    return this.#leadsTo(newer, older, below) || this.#hasRecord(newer, older, below)
  }

  async #start(known: KnownHeads): Promise<Oid> {
    const { branch } = known
    if (branch !== undefined && findCommit(this.#source.objects, branch) !== undefined) {
      return branch
    }
    const byHeight = (oids: Iterable<Oid>): readonly Oid[] => this.#byHeight(oids)
    const readable = byHeight(known.own)
    for (const find of [() => readable, () => byHeight(known.others), () => this.#tips(known)]) {
      for (const oid of find()) if (await this.#isAcceptable(oid)) return oid
    }
    const [newest] = readable
    if (newest !== undefined) return newest
    if (this.#lacksRedactions) throw bringsBackError()
    throw nothingReadable()
  }

  /** The newest of these that contains `from`, and that verifies if that does. */
  async #newest(from: Oid, oids: readonly Oid[]): Promise<Oid> {
    const height = this.#heightOf(from) ?? -1
    const above = this.#byHeight(oids).filter((oid) => (this.#heightOf(oid) ?? -1) > height)
    for (const oid of above) {
      if ((await this.#isAcceptable(oid)) && this.contains(oid, from)) return oid
    }
    if (!((await this.verify(from)) instanceof StoreError)) return from
    // Damage further down stands in the way of all of them.
    return above.find((oid) => this.#leadsTo(oid, from, height)) ?? from
  }

  async #isAcceptable(oid: Oid): Promise<boolean> {
    if (this.#tried >= TRIED_MAX || !this.#isWhole(oid)) return false
    this.#tried += 1
    const found = await this.verify(oid)
    if (found instanceof StoreError) return false
    this.#redactions ??= this.#findRedactions(found.epochs)
    const { redacted } = found.snapshot
    const isCurrent = [...this.#redactions].every((versionId) => redacted.has(versionId))
    this.#lacksRedactions ||= !isCurrent
    return isCurrent
  }

  async #verify(head: Oid): Promise<SoundHead> {
    const { objects, storeId, identity } = this.#source
    if (readForeignStoreId(objects, head) !== storeId) {
      throw new StoreError('store_id_mismatch', `The commit ${head} is of another store`)
    }
    const unlock = { type: 'identity', identity } as const
    const { epochs } = await openHeadKeyring(objects, storeId, unlock, head)
    const how = { ...this.#options, threads: 0 }
    const { snapshot, commits } = await verifyHistory({ objects, storeId, epochs }, head, how)
    return { snapshot, epochs, commits }
  }

  /** Commits that no other one has as a parent. */
  #tips({ all }: KnownHeads): readonly Oid[] {
    const commits = [...all()]
    const tips = new Set(commits)
    for (const oid of commits) {
      for (const parent of findCommit(this.#source.objects, oid)?.parents ?? []) tips.delete(parent)
    }
    return this.#byHeight(tips)
  }

  /** Those that can be read, the highest first. */
  #byHeight(oids: Iterable<Oid>): readonly Oid[] {
    const found = [...new Set(oids)].flatMap((oid) => {
      const height = this.#heightOf(oid)
      return height === undefined ? [] : [{ oid, height }]
    })
    return found.toSorted((a, b) => b.height - a.height).map(({ oid }) => oid)
  }

  #heightOf(oid: Oid): number | undefined {
    return findCommit(this.#source.objects, oid)?.height
  }

  /** Whether every commit below it can be read. */
  #isWhole(head: Oid): boolean {
    const reached = new Set([head])
    for (const oid of reached) {
      const commit = this.#whole.has(oid) ? undefined : findCommit(this.#source.objects, oid)
      if (commit === undefined && !this.#whole.has(oid)) return false
      for (const parent of commit?.parents ?? []) reached.add(parent)
    }
    for (const oid of reached) this.#whole.add(oid)
    return true
  }

  #leadsTo(from: Oid, to: Oid, height: number): boolean {
    const reached = new Set([from])
    for (const oid of reached) {
      if (oid === to) return true
      const commit = findCommit(this.#source.objects, oid)
      if (commit === undefined || commit.height <= height) continue
      for (const parent of commit.parents) reached.add(parent)
    }
    return false
  }

  #hasRecord(newer: Oid, older: Oid, height: number): boolean {
    const found = this.#verified.get(newer)
    if (found === undefined || found instanceof StoreError) return false
    const { objects, storeId } = this.#source
    const source = { objects, storeId, epochs: found.epochs }
    try {
      const bytes = readCommitBytes(objects, older)
      const { hash } = decodeCommit(storeId, source.epochs, older, bytes)
      return atOnce(containsRecord(source, newer, { height, record: hash }))
    } catch (error) {
      if (isVerdict(error)) return false
      throw error
    }
  }
}

function bringsBackError(): StoreError {
  return new StoreError(
    'redaction_undone',
    'What could be mended from is older than a redaction that this device knows of: nothing was ' +
      'taken over, since it would bring back what was erased',
  )
}

export function nothingReadable(): StoreError {
  return new StoreError(
    'object_missing',
    'No commit of the store can be read here: name a remote or a backup to mend it from',
  )
}

// Chooses the head of a damaged store: the newest commit that its own files name and that verifies,
// or a commit of another copy that contains it. Must not adopt a head that lacks known commits or
// redactions.

import type { WorkOptions } from '../../async.ts'
import { hasCode, StoreError } from '../../errors.ts'
import type { Oid } from '../../git/objects/object.ts'
import type { Identity } from '../../keys/identity.ts'
import { atOnce, TimeSlice } from '../../time-slice.ts'
import { openHeadKeyring } from '../access/authority.ts'
import { readForeignStoreId } from '../clone/clone-remote.ts'
import { containsRecord } from '../commits/ancestors.ts'
import { decodeCommit, type Epochs, readCommitBytes } from '../commits/decoded-commit.ts'
import type { ObjectSource } from '../snapshot/git-reads.ts'
import { findCommit } from '../snapshot/object-closure.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import { isVerdict } from '../verify/verdict.ts'
import { verifyHistory } from '../verify/verify.ts'

/** At most this many commits are tried: each may need all below it verified. */
const TRIED_MAX = 32

/** A head that verifies from genesis. */
export interface SoundHead {
  readonly snapshot: Snapshot
  readonly epochs: Epochs
  readonly commits: number
}

export interface KnownHeads {
  /** The commit of the branch; undefined if its file is missing or damaged. */
  readonly branch: Oid | undefined
  /** Commits that this store's own files name as heads, or that only its journal holds. */
  readonly own: readonly Oid[]
  /** The heads of remotes when last seen, and those of the copy to repair from. */
  readonly others: readonly Oid[]
  /** Every readable commit; called only if no other head reaches a history. */
  readonly all: () => Promise<readonly Oid[]>
}

export interface ChosenHead {
  readonly oid: Oid
  /** Undefined for a head that does not verify, if there is no alternative. */
  readonly sound: SoundHead | undefined
  /** Why it does not verify; undefined if it does. */
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
  readonly #findRedactions: (epochs: Epochs) => Promise<ReadonlySet<string>>
  #redactions: ReadonlySet<string> | undefined
  /** Commits whose ancestors are all readable. */
  readonly #whole: Set<Oid> = new Set()
  #tried = 0
  /** Whether a head was rejected because it lacks a redaction. */
  #lacksRedactions = false

  /** `findRedactions` returns the versions that are known here to be redacted. */
  constructor(
    source: HeadSource,
    findRedactions: (epochs: Epochs) => Promise<ReadonlySet<string>>,
    options: WorkOptions,
  ) {
    this.#source = source
    this.#findRedactions = findRedactions
    this.#options = options
  }

  /** Throws `object_missing` if no commit reaches a history, or `redaction_undone`. */
  async choose(known: KnownHeads): Promise<ChosenHead> {
    const start = await this.#start(known)
    const own = await this.#newest(start, known.own)
    const oid = await this.#newest(own, known.others)
    const result = await this.verify(oid)
    const failed = result instanceof StoreError
    return { oid, sound: failed ? undefined : result, verdict: failed ? result : undefined }
  }

  /** Verifies a head from genesis; returns the error of one that is refused. */
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

  /** Whether `newer` contains `older`, compared by record: a redaction changes commit ids. */
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
      for (const oid of await find()) if (await this.#isAcceptable(oid)) return oid
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
    // Damage below `from` makes all of them fail.
    return above.find((oid) => this.#leadsTo(oid, from, height)) ?? from
  }

  async #isAcceptable(oid: Oid): Promise<boolean> {
    if (this.#tried >= TRIED_MAX || !this.#isWhole(oid)) return false
    this.#tried += 1
    const found = await this.verify(oid)
    if (found instanceof StoreError) return false
    this.#redactions ??= await this.#findRedactions(found.epochs)
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
    const how = { ...this.#options, threads: 0 }
    const { epochs } = await openHeadKeyring(objects, storeId, unlock, head, how.signal)
    const source = { objects, storeId, epochs, identity }
    const { snapshot, commits } = await verifyHistory(source, head, how)
    return { snapshot, epochs, commits }
  }

  /** The commits that are not a parent of another. */
  async #tips({ all }: KnownHeads): Promise<readonly Oid[]> {
    const commits = await all()
    const tips = new Set(commits)
    const slice = new TimeSlice(this.#options.signal)
    for (const oid of commits) {
      if (slice.isOver()) await slice.next()
      for (const parent of findCommit(this.#source.objects, oid)?.parents ?? []) tips.delete(parent)
    }
    return this.#byHeight(tips)
  }

  /** The readable ones of these commits, highest first. */
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

  /** Whether all ancestors of a commit are readable. */
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
    'Every source to repair from is older than a redaction that this device knows of: nothing ' +
      'was taken over, since it would bring back erased versions',
  )
}

export function nothingReadable(): StoreError {
  return new StoreError(
    'object_missing',
    'No commit of the store can be read here: name a remote or a backup to repair it from',
  )
}

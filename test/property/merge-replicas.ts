// A plain model of clones that diverge and merge: whole states and whole pasts in maps, nothing
// clever, no cryptography. Only what a merge makes of memories is asked of the product.

import { sha256OfText } from '../../src/crypto/digest.ts'
import { parentPaths } from '../../src/format/path.ts'
import { zeroId } from '../../src/format/record.ts'
import type { MergeRow } from '../../src/store/commits/new-rows.ts'
import type { MergeInput, OpenMemory } from '../../src/store/merge/merge-input.ts'
import { planMerge, type PlannedMerge } from '../../src/store/merge/plan.ts'
import type { CurrentVersion, LiveMemory } from '../../src/store/snapshot/live-memory.ts'

interface Version {
  readonly memoryId: string
  readonly versionId: string
  readonly created: number
  readonly path: string
  /** Undefined: deleted. */
  readonly content: string | undefined
  readonly commit: Commit
  /** All that it descends from. */
  readonly past: ReadonlySet<Version>
}

export interface Commit {
  readonly height: number
  readonly hash: string
  /** By memory id. */
  readonly state: ReadonlyMap<string, Version>
  /** Itself included. */
  readonly past: ReadonlySet<Commit>
}

/** What an author writes; a merge gives its rows a second base. */
type Row = Pick<MergeRow, 'memoryId' | 'path' | 'content' | 'created'>

export class Replicas {
  readonly heads: Commit[]
  #drawn = 0

  constructor(count: number) {
    const past = new Set<Commit>()
    const genesis = { height: 0, hash: '', state: new Map(), past }
    past.add(genesis)
    this.heads = Array.from({ length: count }, () => genesis)
  }

  head(replica: number): Commit {
    const head = this.heads[replica]
    if (head === undefined) throw new Error('there is no such replica')
    return head
  }

  /** Path and text by memory id, without deleted ones. */
  texts(replica: number): ReadonlyMap<string, Version & { readonly content: string }> {
    const texts = new Map<string, Version & { readonly content: string }>()
    for (const [memoryId, version] of this.head(replica).state) {
      const { content } = version
      if (content !== undefined) texts.set(memoryId, { ...version, content })
    }
    return texts
  }

  isTaken(replica: number, path: string): boolean {
    return [...this.texts(replica).values()].some((text) => overlaps(text.path, path))
  }

  newId(): string {
    this.#drawn += 1
    return sha256OfText(`id ${this.#drawn}`).slice(0, 32)
  }

  write(replica: number, row: Row): void {
    const head = this.head(replica)
    const before = head.state.get(row.memoryId)
    const bases = before === undefined ? [] : [before]
    this.heads[replica] = this.#commit([head], new Map(head.state), [{ row, bases }])
  }

  /** Both replicas have the same head afterwards. Returns the merge, if there had to be one. */
  sync(ours: number, theirs: number, keepsOurs = false): PlannedMerge | undefined {
    const [p, q] = [this.head(ours), this.head(theirs)]
    const isBehind = q.past.has(p)
    const merge = isBehind || p.past.has(q) ? undefined : this.merge(p, q, keepsOurs)
    const head = merge?.commit ?? (isBehind ? q : p)
    this.heads[ours] = head
    this.heads[theirs] = head
    return merge?.plan
  }

  /** Each merges what the other had before: two merges of the same. */
  cross(ours: number, theirs: number): void {
    const [p, q] = [this.head(ours), this.head(theirs)]
    if (q.past.has(p) || p.past.has(q)) return
    this.heads[ours] = this.merge(p, q).commit
    this.heads[theirs] = this.merge(q, p).commit
  }

  merge(
    p: Commit,
    q: Commit,
    keepsOurs = false,
  ): { readonly commit: Commit; readonly plan: PlannedMerge } {
    const { input, settled } = this.inputOf(p, q, keepsOurs)
    const plan = planMerge(input)
    const rows = plan.rows.map((row) => {
      const bases = [p.state, q.state].flatMap((state) => state.get(row.memoryId) ?? [])
      const named = new Set([row.base, row.secondBase])
      return { row, bases: bases.filter(({ versionId }) => named.has(versionId)) }
    })
    return { commit: this.#commit([p, q], settled, rows), plan }
  }

  /** What the product is asked, and the state without what it decides. */
  inputOf(
    p: Commit,
    q: Commit,
    keepsOurs = false,
  ): { readonly input: MergeInput; readonly settled: Map<string, Version> } {
    const open: OpenMemory[] = []
    const changed: LiveMemory[] = []
    const settled = new Map<string, Version>()
    for (const memoryId of new Set([...p.state.keys(), ...q.state.keys()])) {
      const [ours, theirs] = [p.state.get(memoryId), q.state.get(memoryId)]
      const later = laterOf(ours, theirs)
      if (later !== undefined) {
        settled.set(memoryId, later)
        const live = liveOf(later)
        if (ours !== theirs && live !== undefined) changed.push(live)
      } else if (ours !== undefined && theirs !== undefined) {
        const base = commonBase(ours, theirs)
        const sha256 = base && liveOf(base)?.sha256
        const state = base && { path: base.path, sha256, content: () => base.content }
        open.push({ memoryId, ours: currentOf(ours), theirs: currentOf(theirs), base: state })
      }
    }
    const versions = [...p.state.values(), ...q.state.values()]
    const byId = new Map(versions.map((version) => [version.versionId, version]))
    const input: MergeInput = {
      open,
      changed,
      isFixed: (memoryId) => keepsOurs && settled.get(memoryId) === p.state.get(memoryId),
      isOccupied: (path) => {
        return versions.some((each) => each.content !== undefined && overlaps(each.path, path))
      },
      readContent: ({ blob }) => blob,
      readPath: ({ versionId }) => byId.get(versionId)?.path,
      isLater: (a, b) => {
        const [first, second] = [byId.get(a.versionId), byId.get(b.versionId)]
        return first !== undefined && second !== undefined && isLater(first.commit, second.commit)
      },
      limits: { contentBytes: 100_000 },
    }
    return { input, settled }
  }

  #commit(
    parents: readonly Commit[],
    state: Map<string, Version>,
    rows: readonly { readonly row: Row; readonly bases: readonly Version[] }[],
  ): Commit {
    const height = 1 + Math.max(...parents.map((parent) => parent.height))
    const past = new Set(parents.flatMap((parent) => [...parent.past]))
    const commit: Commit = { height, hash: this.newId(), state, past }
    past.add(commit)
    for (const { row, bases } of rows) {
      const { memoryId, path, content, created } = row
      const ancestors = new Set(bases.flatMap((base) => [base, ...base.past]))
      const version = { memoryId, path, content, created, versionId: this.newId(), commit }
      state.set(memoryId, { ...version, past: ancestors })
    }
    return commit
  }
}

/** Whether two memories cannot have these paths at once. */
export function overlaps(a: string, b: string): boolean {
  return a === b || parentPaths(a).includes(b) || parentPaths(b).includes(a)
}

/** Ids are the same everywhere; of an open memory `bases` are in no order. */
export function describeRow(row: MergeRow): unknown {
  const { memoryId, path, content, base, secondBase, operation, created, size, sha256 } = row
  const bases = secondBase === zeroId ? [base] : [base, secondBase].toSorted()
  return { memoryId, path, content, bases, operation, created, size, sha256 }
}

/** Undefined if neither descends from the other. */
function laterOf(a: Version | undefined, b: Version | undefined): Version | undefined {
  if (a === undefined || b === undefined) return a ?? b
  if (a === b || a.past.has(b)) return a
  return b.past.has(a) ? b : undefined
}

function commonBase(a: Version, b: Version): Version | undefined {
  let base: Version | undefined
  for (const version of a.past) {
    if (!b.past.has(version)) continue
    if (base === undefined || isLater(version.commit, base.commit)) base = version
  }
  return base
}

function isLater(a: Commit, b: Commit): boolean {
  return a.height === b.height ? a.hash > b.hash : a.height > b.height
}

function liveOf({ content, commit, ...version }: Version): LiveMemory | undefined {
  if (content === undefined) return undefined
  const digest = { size: Buffer.byteLength(content), sha256: sha256OfText(content) }
  return { ...version, ...digest, updated: commit.height, blob: content, kid: '' }
}

function currentOf(version: Version): CurrentVersion {
  const { versionId, created } = version
  const live = liveOf(version)
  return { versionId, created, live, operation: live === undefined ? 'deleted' : 'modified' }
}

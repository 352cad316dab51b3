// Every version row of the history, in RAM, for questions about the past. Filled on demand by
// walking back from the head to what is known, so writers do not pay for it; kept between runs in
// sealed segments (history-cache.ts). Trusts the head: it has been verified before anyone asks.

import { toHex } from '../bytes.ts'
import { StoreError } from '../errors.ts'
import type { Actor, ChangeRecord, Operation, RecordKind, RedactReason } from '../format/record.ts'
import type { Oid } from '../git/object.ts'
import { decodeCommit, openDetail, readCommitBytes } from './decoded-commit.ts'
import type { DecodedCommit, Epochs } from './decoded-commit.ts'
import type { KnownVersions } from './verify-commit.ts'
import { pause } from './verify.ts'
import type { Progress } from './verify.ts'
import type { ObjectSource } from './git-reads.ts'

/** What a commit says about all its rows. */
export interface CommitEntry {
  readonly oid: Oid
  readonly height: number
  readonly kind: RecordKind
  readonly time: number
  readonly deviceId: string
  readonly actor: Actor | undefined
  readonly session: string | undefined
  readonly reason: RedactReason | undefined
  /** The versions that a redact record names. */
  readonly redacts: readonly string[]
  /** Free text given with a change, undefined if none or redacted. */
  readonly note: string | undefined
}

/** One version row. Path, size and hash are undefined once redacted. */
export interface VersionEntry {
  readonly versionId: string
  readonly memoryId: string
  readonly operation: Operation
  readonly base: string
  readonly path: string | undefined
  readonly size: number | undefined
  readonly sha256: string | undefined
  readonly commit: CommitEntry
}

export interface HistorySource {
  readonly objects: ObjectSource
  readonly storeId: string
  readonly epochs: Epochs
}

const BATCH = 512

export class History implements Pick<KnownVersions, 'findMemory'> {
  /** Oldest first; `commits[i]` has height i. */
  readonly commits: CommitEntry[] = []
  readonly versions: VersionEntry[] = []
  /** How many of the commits are in segments on disk. */
  cachedCommits = 0
  readonly #byVersion: Map<string, VersionEntry> = new Map()
  readonly #byMemory: Map<string, VersionEntry[]> = new Map()
  readonly #redactions: Map<string, CommitEntry> = new Map()

  get head(): CommitEntry | undefined {
    return this.commits.at(-1)
  }

  find(versionId: string): VersionEntry | undefined {
    return this.#byVersion.get(versionId)
  }

  ofMemory(memoryId: string): readonly VersionEntry[] {
    return this.#byMemory.get(memoryId) ?? []
  }

  /** The redact commit that names a version. */
  findRedaction(versionId: string): CommitEntry | undefined {
    return this.#redactions.get(versionId)
  }

  findMemory(versionId: string): string | undefined {
    return this.find(versionId)?.memoryId
  }

  append(commit: CommitEntry, rows: readonly Omit<VersionEntry, 'commit'>[]): void {
    this.commits.push(commit)
    for (const versionId of commit.redacts) {
      if (!this.#redactions.has(versionId)) this.#redactions.set(versionId, commit)
    }
    for (const row of rows) {
      const entry = { ...row, commit }
      this.versions.push(entry)
      this.#byVersion.set(row.versionId, entry)
      const siblings = this.#byMemory.get(row.memoryId)
      if (siblings === undefined) this.#byMemory.set(row.memoryId, [entry])
      else siblings.push(entry)
    }
  }

  clear(): void {
    this.commits.length = 0
    this.versions.length = 0
    this.cachedCommits = 0
    for (const map of [this.#byVersion, this.#byMemory, this.#redactions]) {
      map.clear()
    }
  }
}

/**
 * Brings `history` up to `head`, reading only what is new; starts anew if the past was rewritten.
 */
export async function catchUp(
  history: History,
  source: HistorySource,
  head: Oid,
  options: { readonly progress?: Progress | undefined; readonly signal?: AbortSignal | undefined },
): Promise<void> {
  const missing: DecodedCommit[] = []
  let next: Oid | undefined = head
  while (next !== undefined && next !== history.head?.oid) {
    const bytes = readCommitBytes(source.objects, next)
    const commit = decodeCommit(source.storeId, source.epochs, next, bytes)
    missing.push(commit)
    next = commit.parts.parents[0]
    if (missing.length % BATCH === 0) {
      options.progress?.(missing.length, missing.length + commit.record.height)
      await pause(options.signal)
    }
  }
  if (next === undefined) history.clear()
  for (const [index, commit] of missing.toReversed().entries()) {
    appendDecoded(history, source.storeId, commit)
    if (index % BATCH === BATCH - 1) await pause(options.signal)
  }
}

function appendDecoded(history: History, storeId: string, commit: DecodedCommit): void {
  const { record, oid } = commit
  if (record.kind !== 'change') {
    history.append(commitEntry(oid, record, undefined), [])
    return
  }
  const details = openDetail(storeId, commit)
  const rows = record.rows.map((row, index) => {
    const detail = details.get(index)
    if (row.operation === undefined) {
      throw new StoreError('record_rows', 'A row of a change has no operation')
    }
    const deleted = row.operation === 'deleted'
    return {
      versionId: row.versionId,
      memoryId: row.memoryId,
      operation: row.operation,
      base: row.base,
      path: detail?.path,
      size: deleted ? undefined : detail?.size,
      sha256: deleted || detail === undefined ? undefined : toHex(detail.sha256),
    }
  })
  const note = details.get(0)?.note
  history.append(commitEntry(oid, record, note === '' ? undefined : note), rows)
}

function commitEntry(oid: Oid, record: ChangeRecord, note: string | undefined): CommitEntry {
  const { height, kind, time, deviceId, actor, session, reason } = record
  const redacts = kind === 'redact' ? record.rows.map((row) => row.versionId) : []
  return { oid, height, kind, time, deviceId, actor, session, reason, redacts, note }
}

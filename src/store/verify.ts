// Verifies a history from genesis, or the part of it after a head that was verified before (FORMAT
// §8). Two passes: back from the head to find the commits and every redact record among them, then
// forward, judging each commit. A head is accepted as a whole or not at all.

import { toHex } from '../bytes.ts'
import { StoreError } from '../errors.ts'
import type { Oid } from '../git/object.ts'
import { zeroHash } from '../format/record.ts'
import { decodeCommit, readCommitBytes, verifyDecodedCommit } from './decoded-commit.ts'
import type { DecodedCommit, Epochs } from './decoded-commit.ts'
import { beforeGenesis, Snapshot } from './snapshot.ts'
import type { KeyringState, SettingsState } from './snapshot.ts'
import { verifyCommit } from './verify-commit.ts'
import type { KnownVersions, VerifyContext } from './verify-commit.ts'
import type { ObjectSource } from './git-reads.ts'

/** Reports long work: `done` of `total` commits. */
export type Progress = (done: number, total: number) => void

export interface VerifyOptions {
  readonly progress?: Progress | undefined
  readonly signal?: AbortSignal | undefined
  /** Called with each commit once it is accepted. */
  readonly onCommit?: ((commit: DecodedCommit) => void) | undefined
}

interface HistorySource {
  readonly objects: ObjectSource
  readonly storeId: string
  readonly epochs: Epochs
}

/** How often long work reports and lets other work run. */
const BATCH = 256

/** Verifies everything from genesis to `head`. */
export async function verifyHistory(
  source: HistorySource,
  head: Oid,
  options: VerifyOptions = {},
): Promise<{ readonly snapshot: Snapshot; readonly versions: VersionMap }> {
  const { oids, redacted } = await walkBack(source, head, undefined, options)
  const versions = new VersionMap()
  const snapshot = new Snapshot(beforeGenesis, unknownKeyring, unknownSettings)
  for (const versionId of redacted) snapshot.redacted.add(versionId)
  const { objects, storeId, epochs } = source
  const context = { objects, storeId, epochs, redacted, versions }
  await verifyForward(context, snapshot, oids, options)
  return { snapshot, versions }
}

/**
 * Verifies what lies between the snapshot's head and `head`, and moves the snapshot there. Returns
 * false, with nothing changed, if `head` does not descend from the snapshot's head by git parents,
 * or if it redacts: a redaction rewrites the past, and only the whole history shows whether it did
 * (FORMAT §8.1).
 */
export async function verifyDescent(
  source: HistorySource,
  snapshot: Snapshot,
  head: Oid,
  versions: Pick<KnownVersions, 'findMemory'>,
  options: VerifyOptions = {},
): Promise<boolean> {
  const stop = snapshot.head.commit
  const { oids, redacted, reachedStop } = await walkBack(source, head, stop, options)
  if (!reachedStop || redacted.size > 0) return false
  const { objects, storeId, epochs } = source
  const context = { objects, storeId, epochs, redacted: snapshot.redacted }
  const attempt = { ...context, versions: new VersionMap(versions) }
  await verifyForward(attempt, snapshot, oids, options)
  return true
}

/**
 * Version id → memory id of everything in the past. What is added on top of `known` stays here, so
 * that an attempt that was refused leaves nothing behind.
 */
export class VersionMap implements KnownVersions {
  readonly #known: Pick<KnownVersions, 'findMemory'> | undefined
  readonly #memories: Map<string, string> = new Map()

  constructor(known?: Pick<KnownVersions, 'findMemory'>) {
    this.#known = known
  }

  get size(): number {
    return this.#memories.size
  }

  findMemory(versionId: string): string | undefined {
    return this.#memories.get(versionId) ?? this.#known?.findMemory(versionId)
  }

  add(versionId: string, memoryId: string): void {
    this.#memories.set(versionId, memoryId)
  }
}

/** The commits after `stop` up to `head`, oldest first, and what their redact records name. */
async function walkBack(
  source: HistorySource,
  head: Oid,
  stop: Oid | undefined,
  options: VerifyOptions,
): Promise<{ oids: Oid[]; redacted: Set<string>; reachedStop: boolean }> {
  const oids: Oid[] = []
  const redacted = new Set<string>()
  const seen = new Set<string>()
  let next: Oid | undefined = head
  while (next !== undefined && next !== stop) {
    const bytes = readCommitBytes(source.objects, next)
    const commit = decodeCommit(source.storeId, source.epochs, next, bytes)
    const hash = toHex(commit.hash)
    if (seen.has(hash)) {
      throw new StoreError('duplicate_record', 'One record is in two commits of the history')
    }
    seen.add(hash)
    if (commit.record.kind === 'redact') {
      for (const row of commit.record.rows) redacted.add(row.versionId)
    }
    oids.push(next)
    next = commit.parts.parents[0]
    if (oids.length % BATCH === 0) await pause(options.signal)
  }
  return { oids: oids.toReversed(), redacted, reachedStop: next === stop }
}

async function verifyForward(
  context: VerifyContext,
  snapshot: Snapshot,
  oids: readonly Oid[],
  options: VerifyOptions,
): Promise<void> {
  const { objects, storeId, epochs } = context
  for (const [index, oid] of oids.entries()) {
    const bytes = readCommitBytes(objects, oid)
    const commit = verifyDecodedCommit(storeId, epochs, oid, bytes)
    verifyCommit(context, snapshot, commit)
    options.onCommit?.(commit)
    if (index % BATCH === BATCH - 1) {
      options.progress?.(index + 1, oids.length)
      await pause(options.signal)
    }
  }
  options.progress?.(oids.length, oids.length)
}

/** Lets timers and input run, and ends the work if the caller wants that. */
export async function pause(signal: AbortSignal | undefined): Promise<void> {
  if (signal?.aborted === true) {
    throw new StoreError('cancelled', 'The work was cancelled', { cause: signal.reason })
  }
  await new Promise((resolve) => setImmediate(resolve))
}

/** Replaced by genesis before anything looks at it. */
const unknownKeyring: KeyringState = {
  record: zeroHash,
  oid: '',
  kid: '',
  directory: { number: 0, previous: [], devices: [], recovery: [], founderRandom: undefined },
}
const unknownSettings: SettingsState = {
  oid: '',
  value: {
    name: '',
    description: '',
    metadata: {},
    archivedAt: undefined,
    limits: { contentBytes: 0, memories: 0 },
  },
}

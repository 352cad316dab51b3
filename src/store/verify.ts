// Verifies a history from genesis, or the part of it after a head that was verified before (FORMAT
// §8). Two passes: back from the head to find the commits and every redact record among them, then
// forward, judging each commit. A head is accepted as a whole or not at all.

import { toHex } from '../bytes.ts'
import { hasCode, StoreError } from '../errors.ts'
import type { Oid } from '../git/object.ts'
import { parseLinks } from '../format/commit.ts'
import { zeroHash } from '../format/record.ts'
import { decodeCommit, readCommitBytes } from './decoded-commit.ts'
import type { JudgedCommit } from './judged-commit.ts'
import { beforeGenesis, Snapshot } from './snapshot.ts'
import type { KeyringState, SettingsState } from './snapshot.ts'
import { verifyJudged } from './verify-commit.ts'
import type { KnownVersions, VerifyContext } from './verify-commit.ts'
import { Judges } from './verify-judges.ts'
import type { JudgingSource } from './verify-judges.ts'

/** Reports long work: `done` of `total` commits. */
export type Progress = (done: number, total: number) => void

export interface VerifyOptions {
  readonly progress?: Progress | undefined
  readonly signal?: AbortSignal | undefined
  /** Called with each commit once it is accepted. */
  readonly onCommit?: ((commit: JudgedCommit) => void) | undefined
  /**
   * How many threads judge commits beside this one. Left out: one less than the machine has
   * processors, up to 3, where a history is long enough to be worth it.
   */
  readonly threads?: number | undefined
}

type HistorySource = JudgingSource

/** How often a walk lets other work run. */
const BATCH = 256

/** Verifies everything from genesis to `head`. */
export async function verifyHistory(
  source: HistorySource,
  head: Oid,
  options: VerifyOptions = {},
): Promise<{ readonly snapshot: Snapshot; readonly versions: VersionMap }> {
  const { height } = parseLinks(readCommitBytes(source.objects, head))
  const judges = new Judges(source, head, height + 1, options.threads)
  try {
    const meet = (oid: Oid): void => judges.meet(oid)
    const { oids, redacted } = await findNewCommits(source, head, () => false, options, meet)
    const versions = new VersionMap()
    const snapshot = new Snapshot(beforeGenesis, unknownKeyring, unknownSettings)
    for (const versionId of redacted) snapshot.redacted.add(versionId)
    const { objects, storeId, epochs } = source
    const context = { objects, storeId, epochs, redacted, versions }
    await verifyWith(judges, context, snapshot, oids, options)
    return { snapshot, versions }
  } finally {
    await judges.close()
  }
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
  const isKnown = (oid: Oid): boolean => oid === stop
  const { oids, redacted, base } = await findNewCommits(source, head, isKnown, options)
  if (base === -1 || redacted.size > 0) return false
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
  readonly #memoryIds: Map<string, string> = new Map()

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
    let known = this.#memoryIds.get(memoryId)
    if (known === undefined) {
      known = copyOf(memoryId)
      this.#memoryIds.set(known, known)
    }
    this.#memories.set(copyOf(versionId), known)
  }
}

/** As a part of a longer string, an id would keep the whole of it in memory. */
function copyOf(id: string): string {
  return Buffer.from(id, 'latin1').toString('latin1')
}

interface NewCommits {
  /** Oldest first. */
  readonly oids: readonly Oid[]
  /** What their redact records name. */
  readonly redacted: ReadonlySet<string>
  /** The height of the newest commit that is known; -1 if none is. */
  readonly base: number
}

/**
 * The commits up to `head` that are not known. Opens no other records than those that may redact:
 * a change always has a detail, a redaction never.
 */
export async function findNewCommits(
  source: HistorySource,
  head: Oid,
  isKnown: (oid: Oid, height: number) => boolean,
  options: VerifyOptions,
  meet?: (oid: Oid) => void,
): Promise<NewCommits> {
  const oids: Oid[] = []
  const redacted = new Set<string>()
  let base = -1
  let next: Oid | undefined = head
  while (next !== undefined) {
    const bytes = readCommitBytes(source.objects, next)
    const { parents, height, hasDetail } = parseLinks(bytes)
    if (isKnown(next, height)) {
      base = height
      break
    }
    if (!hasDetail) collectRedacted(source, next, bytes, redacted)
    oids.push(next)
    meet?.(next)
    next = parents[0]
    if (oids.length % BATCH === 0) await pause(options.signal)
  }
  return { oids: oids.toReversed(), redacted, base }
}

function collectRedacted(
  { storeId, epochs }: HistorySource,
  oid: Oid,
  bytes: Uint8Array,
  redacted: Set<string>,
): void {
  const { record } = decodeCommit(storeId, epochs, oid, bytes)
  if (record.kind !== 'redact') return
  for (const { versionId } of record.rows) redacted.add(versionId)
}

/** Verifies commits that follow the snapshot's head, oldest first; the snapshot moves along. */
export async function verifyForward(
  context: VerifyContext,
  snapshot: Snapshot,
  oids: readonly Oid[],
  options: VerifyOptions,
): Promise<void> {
  const judges = new Judges(context, oids.at(-1) ?? '', oids.length, options.threads)
  try {
    await verifyWith(judges, context, snapshot, oids, options)
  } finally {
    await judges.close()
  }
}

async function verifyWith(
  judges: Judges,
  context: VerifyContext,
  snapshot: Snapshot,
  oids: readonly Oid[],
  options: VerifyOptions,
): Promise<void> {
  let done = 0
  try {
    for await (const batch of judges.inOrder(oids)) {
      for (const commit of batch) {
        verifyJudged(context, snapshot, commit)
        options.onCommit?.(commit)
        done += 1
      }
      options.progress?.(done, oids.length)
      await pause(options.signal)
    }
  } catch (error) {
    if (hasCode(error, 'record_parents', 'record_height', 'detail_missing')) {
      explain(context, oids)
    }
    throw error
  }
}

/**
 * Looks for what is wrong elsewhere if a commit is refused for its place, or for a detail that no
 * redaction explains: one of its records may be in two commits, or be no redaction but pretend to.
 */
function explain(source: HistorySource, oids: readonly Oid[]): void {
  const seen = new Set<string>()
  for (const oid of oids.toReversed()) {
    const bytes = readCommitBytes(source.objects, oid)
    const hash = toHex(decodeCommit(source.storeId, source.epochs, oid, bytes).hash)
    if (seen.has(hash)) {
      throw new StoreError('duplicate_record', 'One record is in two commits of the history')
    }
    seen.add(hash)
  }
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

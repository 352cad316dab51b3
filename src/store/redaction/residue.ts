// Searches all that the store keeps for redacted versions (FORMAT §10): opens every object of any
// kind by trial, reachable or not, and looks at every cache of this device and at what this process
// holds of texts for searches. Must not trust what a redaction has reported.

import type { WorkOptions } from '../../async.ts'
import { hasCode, StoreError } from '../../errors.ts'
import { treeOf, parseCommit } from '../../format/commit.ts'
import { memoryContext, openEnvelope, readKid } from '../../format/envelope.ts'
import { formatId } from '../../format/id.ts'
import { decodeMemoryBlob } from '../../format/memory-blob.ts'
import type { GitObject, Oid } from '../../git/objects/object.ts'
import { isStart, kidOfStart, readStart } from '../../keys/start.ts'
import { TimeSlice } from '../../time-slice.ts'
import { decodeCommit, openDetail } from '../commits/decoded-commit.ts'
import type { ContentSource } from '../history/contents.ts'
import type { CommitEntry } from '../history/history-rows.ts'
import type { History } from '../history/history.ts'
import type { CachedFiles } from '../local/local-files.ts'
import type { StoreSession } from '../session/session.ts'
import { getTree, type ObjectSource } from '../snapshot/git-reads.ts'
import { compareDistantTrees } from '../snapshot/tree-diff.ts'
import { listBuiltOnRedacted, type BuiltOnRedacted } from './built-on.ts'
import { verifyCertificateHere } from './certificate-check.ts'
import type { RedactionCertificate } from './certificate.ts'

export interface ResidueOptions extends WorkOptions {
  /** Objects that must not be stored in any place. */
  readonly objectIds?: readonly string[] | undefined
  /**
   * The certificate of a redaction, or its text: it is verified against this store first, as
   * `verifyCertificate` does, and then its objects must not be stored either.
   */
  readonly certificate?: string | RedactionCertificate | undefined
  /** Names what a text of the store was copied to outside it, such as the file of an editor. */
  readonly textsOutside?: (() => readonly string[]) | undefined
}

export interface ResidueReport {
  /** The number of redacted versions that were searched for. */
  readonly versions: number
  /** The number of objects that were searched: in packs, loose, in the journal, and as evidence. */
  readonly objects: number
  /** The size of the journal in bytes; `objects` includes those in it. */
  readonly journalBytes: number
  /** The number of versions that the caches of this device, and indexes in RAM, describe. */
  readonly cached: number
  /** The number of objects that the next checkpoint erases: until then they may be found. */
  readonly pending: number
  /** The number of damaged files in `gitlocket/damaged`, which are not searched. */
  readonly putAside: number
  /** The residue; empty without any. */
  readonly found: readonly Residue[]
  /**
   * Versions that may hold a redacted text, newest first: they were written on a redacted version
   * by a device that did not know of the redaction. `select.withCopies` redacts them.
   */
  readonly builtOnRedacted: readonly BuiltOnRedacted[]
  /** What `textsOutside` named: any of it may hold a redacted text. */
  readonly textsOutside: readonly string[]
}

/** Something that a redaction should have erased. */
export interface Residue {
  /** `evidence` is the packs of refused heads, in `gitlocket/refused`. */
  readonly place: 'object' | 'evidence' | 'cache'
  /** The git object that holds it; undefined for a cache. */
  readonly objectId?: string
  /** `memver_…`; undefined if unknown. */
  readonly versionId?: string
}

/** At most this many objects are searched before other work runs. */
const BATCH = 256

export async function findResidue(
  session: StoreSession,
  options: ResidueOptions,
): Promise<ResidueReport> {
  const unwanted = await unwantedIds(session, options)
  const history = await session.loadHistory(options)
  const redacted = await session.reading((snapshot) => new Set(snapshot.redacted))
  const placed = await placeBlobs(session.contents, history, options)
  const search = new ResidueSearch(session.contents, history, redacted, placed)
  const stored = await listIds(session, new TimeSlice(options.signal, BATCH))
  const found = await searchAll(session.objects, stored, { search, unwanted }, options)
  const evidence = await searchEvidence(session, { search, unwanted }, options)
  for (const left of evidence.found) found.push({ ...left, place: 'evidence' })
  const files = await session.local.read(session.contents)
  const cached = [...versionsInCaches(files), ...session.heldVersionIds]
  found.push(...cached.filter((id) => redacted.has(id)).map(cacheResidue))
  const { journalBytes, purgePending, putAside } = session.objects.status()
  const searched = {
    objects: stored.length + evidence.objects,
    journalBytes,
    cached: cached.length,
  }
  const builtOnRedacted = await listBuiltOnRedacted(session, options.signal)
  const report = { versions: redacted.size, ...searched, pending: purgePending, putAside }
  return { ...report, found, builtOnRedacted, textsOutside: options.textsOutside?.() ?? [] }
}

async function unwantedIds(
  session: StoreSession,
  { objectIds = [], certificate }: ResidueOptions,
): Promise<ReadonlySet<string>> {
  if (certificate === undefined) return new Set(objectIds)
  const { object_ids } = await verifyCertificateHere(session, certificate)
  return new Set([...objectIds, ...object_ids])
}

async function listIds({ objects }: StoreSession, slice: TimeSlice): Promise<readonly Oid[]> {
  const ids: Oid[] = []
  for (const oid of objects.objectIds()) {
    ids.push(oid)
    if (ids.length % BATCH === 0 && slice.isOver()) await slice.next()
  }
  return ids
}

interface ResidueQuery {
  readonly search: ResidueSearch
  readonly unwanted: ReadonlySet<string>
}

async function searchAll(
  objects: ObjectSource,
  ids: readonly Oid[],
  { search, unwanted }: ResidueQuery,
  { signal, progress }: WorkOptions,
): Promise<Residue[]> {
  const found: Residue[] = []
  const slice = new TimeSlice(signal, BATCH)
  for (const [index, oid] of ids.entries()) {
    if (unwanted.has(oid)) found.push({ place: 'object', objectId: oid })
    found.push(...search.look(oid, objects.read(oid)))
    if (slice.isOver()) {
      progress?.(index + 1, ids.length)
      await slice.next()
    }
  }
  return found
}

async function searchEvidence(
  { objects }: StoreSession,
  how: ResidueQuery,
  options: WorkOptions,
): Promise<{ readonly objects: number; readonly found: readonly Residue[] }> {
  const evidence = objects.exchange.evidence()
  try {
    const ids = [...evidence.ids()]
    return { objects: ids.length, found: await searchAll(evidence, ids, how, options) }
  } finally {
    evidence.close()
  }
}

/** Opens objects by trial, with the contexts of the redacted versions. */
export class ResidueSearch {
  readonly #source: Pick<ContentSource, 'storeId' | 'epochs'>
  readonly #redacted: ReadonlySet<string>
  /** The memories that have redacted versions. */
  readonly #memories: ReadonlySet<string>
  /** The memory of every blob that a tree of the history names. */
  readonly #placed: ReadonlyMap<Oid, string>

  constructor(
    source: Pick<ContentSource, 'storeId' | 'epochs'>,
    history: History,
    redacted: ReadonlySet<string>,
    placed: ReadonlyMap<Oid, string> = new Map(),
  ) {
    this.#source = source
    this.#redacted = redacted
    this.#memories = new Set([...redacted].flatMap((id) => history.findMemory(id) ?? []))
    this.#placed = placed
  }

  /** The maximum number of trials for one blob. */
  get cost(): number {
    return this.#memories.size
  }

  /** The residue in one object; empty if it is not stored. */
  look(oid: Oid, object: GitObject | undefined): readonly Residue[] {
    if (object?.type === 'commit') return this.#lookAtCommit(oid, object.body)
    if (object?.type === 'blob') return this.#lookAtBlob(oid, object.body)
    return []
  }

  #lookAtCommit(oid: Oid, bytes: Uint8Array): readonly Residue[] {
    const { storeId, epochs } = this.#source
    return tolerant([], () => {
      if (parseCommit(bytes).detail === undefined) return []
      const commit = decodeCommit(storeId, epochs, oid, bytes)
      return [...openDetail(commit).keys()].flatMap((row) => {
        const versionId = commit.record.rows[row]?.versionId ?? ''
        return this.#redacted.has(versionId) ? [residue(oid, versionId)] : []
      })
    })
  }

  #lookAtBlob(oid: Oid, bytes: Uint8Array): readonly Residue[] {
    if (isStart(bytes)) return this.#lookAtStart(oid, bytes)
    const placed = this.#placed.get(oid)
    const candidates = placed === undefined ? this.#memories : [placed]
    for (const memoryId of candidates) {
      const versionId = this.#findVersion(memoryId, bytes)
      if (versionId === undefined) continue
      return this.#redacted.has(versionId) ? [residue(oid, versionId)] : []
    }
    return []
  }

  /** A start that was fetched from a remote describes the memories of its state and its floor. */
  #lookAtStart(oid: Oid, bytes: Uint8Array): readonly Residue[] {
    return tolerant([], () => {
      const epoch = this.#source.epochs.get(kidOfStart(bytes))
      if (epoch === undefined) return []
      const { state, floor } = readStart(bytes, epoch)
      return [...state.memories, ...(floor?.memories ?? [])].flatMap(({ value }) => {
        if (value?.live === undefined || !this.#redacted.has(value.versionId)) return []
        return [residue(oid, value.versionId)]
      })
    })
  }

  /** Undefined if the blob is not of this memory, which the key commitment shows. */
  #findVersion(memoryId: string, bytes: Uint8Array): string | undefined {
    const { epochs } = this.#source
    return tolerant(undefined, () => {
      const epoch = epochs.get(readKid('memory', bytes))
      if (epoch === undefined) return undefined
      const context = memoryContext(epoch, memoryId)
      return decodeMemoryBlob(openEnvelope('memory', epoch.memory, context, bytes)).versionId
    })
  }
}

async function placeBlobs(
  source: ContentSource,
  history: History,
  { signal }: WorkOptions,
): Promise<ReadonlyMap<Oid, string>> {
  const placed = new Map<Oid, string>()
  const slice = new TimeSlice(signal, BATCH)
  let last: { readonly position: number; readonly memories: Oid | undefined } | undefined
  for (const commit of history.commits) {
    const memories = memoriesOf(source, commit)
    const [parent] = history.parentsOf(commit)
    const isNext = parent?.position === last?.position
    const before = isNext ? last?.memories : parent && memoriesOf(source, parent)
    await compareDistantTrees(source.objects, before, memories, {
      tree: () => undefined,
      blob: (memoryId, blob) => blob !== undefined && placed.set(blob, memoryId),
    })
    last = { position: commit.position, memories }
    if (slice.isOver()) await slice.next()
  }
  return placed
}

/** Undefined if another process has redacted and erased the commit. */
function memoriesOf({ objects }: ContentSource, { oid }: CommitEntry): Oid | undefined {
  const commit = objects.read(oid)
  if (commit === undefined) return undefined
  return getTree(objects, treeOf(commit.body)).find((entry) => entry.name === 'm')?.oid
}

function residue(objectId: Oid, versionId: string): Residue {
  return { place: 'object', objectId, versionId: formatId('version', versionId) }
}

/** Returns `otherwise` if an object does not open: it is of another program or another kind. */
function tolerant<T>(otherwise: T, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (error instanceof StoreError && !isDamage(error)) return otherwise
    throw error
  }
}

function isDamage(error: StoreError): boolean {
  return hasCode(error, 'object_missing', 'object_corrupt', 'pack_corrupt', 'storage_failed')
}

/** The versions that the caches on disk describe beyond their ids. */
function versionsInCaches({ state, history }: CachedFiles): readonly string[] {
  const living = [...(state?.current.live() ?? [])].map(({ live }) => live.versionId)
  const past: string[] = []
  for (const { path, versionId } of history.versions) if (path !== undefined) past.push(versionId)
  return [...living, ...past]
}

function cacheResidue(versionId: string): Residue {
  return { place: 'cache', versionId: formatId('version', versionId) }
}

// Histories for tests: read from a store on disk, or made of plain entries where contents do not
// matter.

import { createHash } from 'node:crypto'
import type { Actor, Operation, RecordKind } from '../../src/format/change-record.ts'
import { parseId } from '../../src/format/id.ts'
import { zeroId } from '../../src/format/record.ts'
import { openDiskObjectStore } from '../../src/git/disk-store/disk-object-store.ts'
import type { ObjectStore } from '../../src/git/object-store.ts'
import type { MemoryStore } from '../../src/index.ts'
import { openHeadKeyring } from '../../src/store/access/authority.ts'
import { catchUp } from '../../src/store/history/catch-up.ts'
import { ContentCache, type ContentSource } from '../../src/store/history/contents.ts'
import type {
  CommitEntry,
  NewCommit,
  VersionEntry,
  VersionRow,
} from '../../src/store/history/history-rows.ts'
import { History } from '../../src/store/history/history.ts'
import type { TestPlace } from './stores.ts'

export interface ReadHistory {
  readonly history: History
  readonly contents: ContentSource & { readonly objects: ObjectStore }
  /** Follows later commits, as an open store does. */
  loadHistory(): Promise<History>
  close(): Promise<void>
}

/** The history of a store, which may be open, through a handle of its own. */
export async function historyOf(store: MemoryStore, place: TestPlace): Promise<ReadHistory> {
  const { directory, identity } = place
  const storeId = parseId('store', store.id)
  const objects = await openDiskObjectStore({ directory })
  const unlock = { type: 'identity', identity } as const
  const { epochs } = await openHeadKeyring(objects, storeId, unlock, objects.head ?? '')
  const contents = { objects, storeId, epochs, cache: new ContentCache() }
  const history = new History()
  const loadHistory = async (): Promise<History> => {
    objects.refresh()
    await catchUp(history, contents, objects.head ?? '', {})
    return history
  }
  await loadHistory()
  return { history, contents, loadHistory, close: () => objects.close() }
}

/** One row of a made commit. */
export interface MadeRow {
  /** Names a memory; its first row creates it. */
  readonly memory: string
  readonly operation?: Operation
  /** Version ids; the memory's newest version, if left out. */
  readonly bases?: readonly string[]
  /** `/` and the memory's name if left out; undefined: redacted. */
  readonly path?: string | undefined
  /** A text of its own, if left out. */
  readonly text?: string
}

export interface MadeCommit extends Partial<Omit<NewCommit, 'height'>> {
  readonly rows?: readonly MadeRow[]
  /** Positions; the commit before, if left out. Commits must be given in canonical order. */
  readonly parents?: readonly number[]
}

const maker: Actor = { type: 'api', id: 'maker' }

/** Ids and hashes follow from names and places, so that equal calls make equal histories. */
export function makeHistory(commits: readonly MadeCommit[]): History {
  const history = new History()
  for (const commit of commits) appendMade(history, commit)
  return history
}

export function appendMade(history: History, made: MadeCommit): void {
  const { rows = [], parents, ...given } = made
  const position = history.commits.length
  const kind: RecordKind = position === 0 ? 'genesis' : 'change'
  const facts = { kind, time: position, deviceId: hex('device', 32), actor: maker, redacts: [] }
  const free = { session: undefined, reason: undefined, note: undefined }
  const heights = (parents ?? [position - 1]).map(
    (parent) => history.commits.at(parent)?.height ?? -1,
  )
  const height = Math.max(-1, ...heights) + 1
  const commit = { oid: oidAt(position), height, ...facts, ...free, ...given }
  history.append(
    commit,
    rows.map((row) => madeRow(history, position, row)),
    parents,
  )
}

/** All that entries say, as values that can be compared. */
export function commitsOf({ commits }: Pick<History, 'commits'>): readonly CommitEntry[] {
  return Array.from(commits, commitValues)
}

export function versionsOf({ versions }: Pick<History, 'versions'>): readonly VersionValues[] {
  return Array.from(versions, versionValues)
}

function commitValues(entry: CommitEntry): CommitEntry {
  const { oid, position, height, isCut, kind, time, deviceId, actor, session } = entry
  const { reason, redacts, note } = entry
  const place = { oid, position, height, isCut, kind, time }
  return { ...place, deviceId, actor, session, reason, redacts, note }
}

/** Without other entries. */
type VersionValues = Omit<VersionEntry, 'bases'>

export function versionValues(entry: VersionEntry): VersionValues {
  const { versionId, memoryId, operation, base, secondBase, path, size, sha256 } = entry
  const commit = commitValues(entry.commit)
  return { versionId, memoryId, operation, base, secondBase, path, size, sha256, commit }
}

export function oidAt(position: number, history: string = 'first'): string {
  return hex(`${history} commit ${position}`, 40)
}

/** The version that a made commit wrote of a memory. */
export function versionAt(position: number, memory: string): string {
  return hex(`version ${position} of ${memory}`, 32)
}

export function memoryNamed(memory: string): string {
  return hex(`memory ${memory}`, 32)
}

function madeRow(history: History, position: number, row: MadeRow): VersionRow {
  const { memory, path = `/${memory}` } = row
  const memoryId = memoryNamed(memory)
  const before = history.newestOf(memoryId)?.versionId ?? zeroId
  const [base = before, secondBase = zeroId] = row.bases ?? []
  const operation = row.operation ?? (base === zeroId ? 'created' : 'modified')
  const hasContent = operation !== 'deleted' && !('path' in row && row.path === undefined)
  return {
    versionId: versionAt(position, memory),
    memoryId,
    operation,
    base,
    secondBase,
    path: 'path' in row ? row.path : path,
    size: hasContent ? position : undefined,
    sha256: hasContent ? hex(row.text ?? `content ${position}`, 64) : undefined,
  }
}

function hex(text: string, digits: number): string {
  return createHash('sha256').update(text).digest('hex').slice(0, digits)
}

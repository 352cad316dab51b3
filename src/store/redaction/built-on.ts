// Follows texts from version to version, to find those that may repeat an erased text (FORMAT §10).
// A version that another clone wrote without knowing of a redaction was never compared with the
// erased text, and no one can do so any more: it may hold the text until it is redacted as well.
// Reads the history alone, and no contents.

import { formatId } from '../../format/id.ts'
import { zeroId } from '../../format/record.ts'
import type { CommitEntry, VersionEntry } from '../history/history-rows.ts'
import type { History } from '../history/history.ts'
import { readConsistently } from '../history/read-consistently.ts'
import { mergedInputsOf } from '../history/version-inputs.ts'
import type { StoreSession } from '../session/session.ts'

/** A version that may hold the text of redacted ones; ids are `mem_…` and `memver_…`. */
export interface BuiltOnRedacted {
  readonly memoryId: string
  readonly versionId: string
  readonly path: string | undefined
  /** The redacted versions that it was written on, directly or through others. */
  readonly redactedVersionIds: readonly string[]
}

/** By version, those that it was written on; ids are hex. */
export type BuiltOn = ReadonlyMap<string, ReadonlySet<string>>

/** The versions whose text is searched for, and those where the search ends. */
interface Search {
  readonly isSource: (base: VersionEntry, entry: VersionEntry) => boolean
  readonly isEnd: (entry: VersionEntry) => boolean
}

/** The versions that were written on these; deletions hold no text and are left out. */
export function findBuiltOn(
  history: History,
  versionIds: ReadonlySet<string>,
): Generator<undefined, BuiltOn> {
  return follow(history, {
    isSource: ({ versionId }) => versionIds.has(versionId),
    isEnd: ({ versionId }) => versionIds.has(versionId),
  })
}

/** What `findUnaware` finds now, newest first. */
export function listBuiltOnRedacted(
  session: StoreSession,
  signal?: AbortSignal,
): Promise<readonly BuiltOnRedacted[]> {
  return readConsistently(session, describeUnaware, { signal })
}

function* describeUnaware(history: History): Generator<undefined, readonly BuiltOnRedacted[]> {
  const found = yield* findUnaware(history)
  return [...found].flatMap(([id, sources]) => describe(history.find(id), sources)).toReversed()
}

/**
 * The versions that were written on redacted ones without knowing of the redaction, and those
 * written on these, oldest first. A redaction of one of them ends it for what its author saw.
 */
export function* findUnaware(history: History): Generator<undefined, BuiltOn> {
  const redactions = new Map<string, CommitEntry[]>()
  let isLinear = true
  for (const commit of history.commits) {
    yield
    if (!commit.isCut) isLinear = false
    if (commit.kind !== 'redact') continue
    for (const versionId of commit.redacts) {
      const known = redactions.get(versionId)
      if (known === undefined) redactions.set(versionId, [commit])
      else known.push(commit)
    }
  }
  if (isLinear || redactions.size === 0) return new Map()
  const isApart = apartness(history)
  return yield* follow(history, {
    isSource({ versionId }, { commit }) {
      const known = redactions.get(versionId)
      // The device that redacts sees existing versions, and later writers know of the redaction.
      return known?.every((redaction) => isApart(redaction, commit)) === true
    },
    isEnd: ({ versionId }) => redactions.has(versionId),
  })
}

function* follow(history: History, search: Search): Generator<undefined, BuiltOn> {
  const found = new Map<string, ReadonlySet<string>>()
  const deletions = new Set<string>()
  for (const entry of history.versions) {
    yield
    if (search.isEnd(entry)) continue
    const sources = sourcesOf(history, entry, search, found)
    if (sources.size === 0) continue
    found.set(entry.versionId, sources)
    if (entry.operation === 'deleted') deletions.add(entry.versionId)
  }
  for (const versionId of deletions) found.delete(versionId)
  return found
}

/** A deletion is followed only by a restoration: a merge with it takes its text from elsewhere. */
function sourcesOf(
  history: History,
  entry: VersionEntry,
  { isSource }: Search,
  found: BuiltOn,
): ReadonlySet<string> {
  let sources: ReadonlySet<string> = none
  for (const input of inputsOf(history, entry)) {
    if (input.operation === 'deleted' && entry.operation !== 'created') continue
    const more = isSource(input, entry) ? new Set([input.versionId]) : found.get(input.versionId)
    if (more === undefined || more === sources) continue
    sources = sources.size === 0 ? more : new Set([...sources, ...more])
  }
  return sources
}

const none: ReadonlySet<string> = new Set()

/** For a merge, includes the versions of other memories that it joined into this one. */
function inputsOf(history: History, entry: VersionEntry): readonly VersionEntry[] {
  const merged = mergedInputsOf(history, entry)
  if (merged.length > 0 || entry.base === zeroId) return merged
  const base = history.find(entry.base)
  return base === undefined ? [] : [base]
}

/** Whether neither of two commits is in the past of the other. */
function apartness(history: History): (a: CommitEntry, b: CommitEntry) => boolean {
  let last:
    | { readonly position: number; readonly isPast: (position: number) => boolean }
    | undefined
  return (a, b) => {
    const [older, newer] = a.position < b.position ? [a, b] : [b, a]
    const { position } = newer
    if (newer.isCut) return false
    if (last?.position !== position) last = { position, isPast: history.pastOf(newer) }
    return !last.isPast(older.position)
  }
}

function describe(
  entry: VersionEntry | undefined,
  sources: ReadonlySet<string>,
): readonly BuiltOnRedacted[] {
  if (entry === undefined) return []
  const { memoryId, versionId, path } = entry
  return [
    {
      memoryId: formatId('memory', memoryId),
      versionId: formatId('version', versionId),
      path,
      redactedVersionIds: Array.from(sources, (id) => formatId('version', id)),
    },
  ]
}

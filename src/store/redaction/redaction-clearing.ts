// The first part of a redaction: deletes live memories whose current version will be erased, or
// overwrites them without the secret, since tree(X) of FORMAT §6.4 holds every current version.
// Moves the snapshot; each commit's `undo` moves it back. Must not erase anything.

import { assert, StoreError } from '../../errors.ts'
import { rowsMax } from '../../limits.ts'
import { type Change, planChanges } from '../changes/changes.ts'
import type { Author } from '../commits/commit-context.ts'
import { buildChange, type BuiltVersions } from '../commits/commit.ts'
import type { PlannedRow } from '../commits/new-rows.ts'
import { readMemory } from '../history/contents.ts'
import type { VersionEntry } from '../history/history-rows.ts'
import type { StoreSession } from '../session/session.ts'
import type { LiveMemory } from '../snapshot/live-memory.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import { currentError, isCurrent, type RedactionRequest } from './redaction-plan.ts'

/** A commit that replaces current versions. */
export interface Clearing {
  readonly built: BuiltVersions
  readonly rows: readonly PlannedRow[]
}

const PLACEHOLDER = '[redacted]'
/** At most this many passes overwrite matches: a replacement may produce new ones. */
const PASSES_MAX = 8
/** An overwritten text may grow by at most this factor. */
const GROWTH_MAX = 4

/** Builds as many commits as the limit of rows requires; none if no version is current. */
export async function* clearCurrent(
  session: StoreSession,
  entries: readonly VersionEntry[],
  request: RedactionRequest,
  author: Author,
): AsyncGenerator<Clearing> {
  const { snapshot } = session
  const current = entries.filter((entry) => isCurrent(snapshot, entry))
  if (current.length === 0) return
  if (request.current !== 'delete' && request.current !== 'overwrite') throw currentError(current)
  checkMayOverwrite(snapshot, request)
  for (let start = 0; start < current.length; start += rowsMax) {
    const now = session.nextTime()
    const rows = await planClearing(session, now, current.slice(start, start + rowsMax), request)
    const context = await session.commitContext(now, author)
    // Without the caller's reason, which may repeat the secret.
    const built = await buildChange(context, snapshot, rows, { ...author, reason: undefined })
    yield { built, rows }
  }
}

async function planClearing(
  session: StoreSession,
  now: number,
  entries: readonly VersionEntry[],
  request: RedactionRequest,
): Promise<readonly PlannedRow[]> {
  const { snapshot, contents } = session
  const changes = entries.map((entry) => clearingChange(getLive(snapshot, entry), request))
  const readContent = (memory: LiveMemory): string => readMemory(contents, memory)
  const { rows } = await planChanges({ snapshot, now, readContent }, changes)
  const replaced = new Set(rows.map((row) => row.base))
  const unchanged = entries.filter((entry) => !replaced.has(entry.versionId))
  if (unchanged.length > 0) throw unchangedError(unchanged)
  return rows
}

/** An archived store can be read and emptied, but not written (Memory Stores API §5.7). */
function checkMayOverwrite({ settings }: Snapshot, request: RedactionRequest): void {
  if (request.current !== 'overwrite' || settings.value.archivedAt === undefined) return
  throw new StoreError(
    'store_archived',
    'The store is archived, so no text can be overwritten: delete these memories instead',
  )
}

function clearingChange({ path }: LiveMemory, request: RedactionRequest): Change {
  if (request.current === 'delete') return { type: 'delete', path }
  const { matching } = request.select
  if (matching === undefined) return { type: 'edit', path, edit: () => `${PLACEHOLDER}\n` }
  const everywhere = new RegExp(matching.source, `${matching.flags.replace(/[gy]/g, '')}g`)
  if (path.search(everywhere) !== -1) {
    throw new StoreError(
      'version_current',
      'The path of a live memory matches too: rename or delete it instead of overwriting it',
    )
  }
  return { type: 'edit', path, edit: (content) => overwritten(content, everywhere) }
}

/** Replaces matches until no match is left: the text around a match may form a new one. */
function overwritten(content: string, everywhere: RegExp): string {
  const lengthMax = GROWTH_MAX * content.length + PLACEHOLDER.length * GROWTH_MAX
  let text = content
  for (let pass = 0; pass < PASSES_MAX && PLACEHOLDER.search(everywhere) === -1; pass += 1) {
    if (text.search(everywhere) === -1) return text
    text = text.replace(everywhere, () => PLACEHOLDER)
    if (text.length > lengthMax) break
  }
  if (content.search(everywhere) === -1) return content
  throw new StoreError(
    'version_current',
    `The pattern would still match after its matches are replaced by ${PLACEHOLDER}: edit or ` +
      'delete these memories first',
  )
}

/** Only the reason matches, or the text is the placeholder already. */
function unchangedError(entries: readonly VersionEntry[]): StoreError {
  const { code, details } = currentError(entries)
  return new StoreError(
    code,
    `${entries.length} of the versions are current, and overwriting would not change their ` +
      'texts, as only the reason given for them matches: edit or delete these memories first',
    { details },
  )
}

function getLive(snapshot: Snapshot, { memoryId }: VersionEntry): LiveMemory {
  const live = snapshot.current.get(memoryId)?.live
  assert(live !== undefined, 'a current version belongs to a live memory')
  return live
}

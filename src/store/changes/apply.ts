// Applies changes of memories in one commit: plans on the newest snapshot, in the writer's queue,
// and commits. The rules are in changes.ts.

import { StoreError } from '../../errors.ts'
import { formatId } from '../../format/id.ts'
import type { Settings } from '../../format/settings.ts'
import { checkMayWrite } from '../access/authority.ts'
import type { Author } from '../commits/commit-context.ts'
import { buildChange, type BuiltVersions } from '../commits/commit.ts'
import type { PlannedRow } from '../commits/new-rows.ts'
import { type ContentSource, keepWritten, readMemory } from '../history/contents.ts'
import type { StoreSession } from '../session/session.ts'
import { type LiveMemory, describeMemory, type MemoryInfo } from '../snapshot/live-memory.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import { type Change, planChanges } from './changes.ts'

/** The result of `apply`. There is no commit if nothing had to change. */
export interface Applied {
  readonly commit: string | undefined
  readonly versionIds: readonly string[]
}

/** The result of changes of memories. */
export interface AppliedChanges extends Applied {
  /**
   * The memory that each change has left, as of this commit; undefined where it left none, or was
   * about a directory.
   */
  readonly memories: readonly (MemoryInfo | undefined)[]
}

export const nothingApplied: Applied = { commit: undefined, versionIds: [] }

/** Implements `StoreWriter.apply`. */
export function applyChanges(
  session: StoreSession,
  changes: readonly Change[],
  author: Author,
): Promise<AppliedChanges> {
  // Copies: queued changes must not be modified by the caller.
  const copies = checkChanges(changes)
  return session.writing(async () => {
    const { snapshot, contents } = session
    checkMayWrite(snapshot, session.identity, 'change')
    checkNotArchived(snapshot.settings.value, copies)
    const now = session.nextTime()
    const readContent = (memory: LiveMemory) => readMemory(contents, memory)
    const { rows, paths } = await planChanges({ snapshot, now, readContent }, copies)
    if (rows.length === 0) {
      return { built: undefined, result: { ...nothingApplied, memories: infosAt(snapshot, paths) } }
    }
    await session.checkContents(rows, author)
    const context = await session.commitContext(now, author)
    const built = await buildChange(context, snapshot, rows, author)
    keepText(contents, rows, built)
    const versionIds = built.versionIds.map((id) => formatId('version', id))
    const { commit } = built.snapshot.head
    return { built, result: { commit, versionIds, memories: infosAt(built.snapshot, paths) } }
  })
}

/** An agent edits the same few memories repeatedly; a change of many would push those out. */
function keepText(
  contents: ContentSource,
  [row, ...others]: readonly PlannedRow[],
  { versionIds: [versionId] }: BuiltVersions,
): void {
  if (row?.content === undefined || versionId === undefined || others.length > 0) return
  keepWritten(contents, row.base, { versionId, content: row.content })
}

function infosAt(
  { paths }: Snapshot,
  wanted: readonly (string | undefined)[],
): readonly (MemoryInfo | undefined)[] {
  return wanted.map((path) => {
    const memory = path === undefined ? undefined : paths.findMemory(path)
    return memory && describeMemory(memory)
  })
}

function checkChanges(changes: readonly Change[]): readonly Change[] {
  if (!Array.isArray(changes)) throw new StoreError('invalid_input', 'Changes must be a list')
  return changes.map((change) => {
    if (typeof change === 'object' && change !== null) return { ...change }
    throw new StoreError('invalid_input', 'A change must be an object')
  })
}

/** Memory Stores API §5.7: an archived store can be read and emptied, not written. */
function checkNotArchived(settings: Settings, changes: readonly Change[]): void {
  if (settings.archivedAt === undefined) return
  if (changes.every((change) => change.type === 'delete')) return
  throw new StoreError(
    'store_archived',
    'The store is archived: memories can only be read or deleted',
  )
}

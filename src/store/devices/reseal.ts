// Seals live memories again under the epoch in force, each as a new version with the same path and
// content: holders of older keys alone cannot open those (FORMAT §7.3). Archived and deleted
// versions keep the keys of their time. Must not begin an epoch.

import { StoreError } from '../../errors.ts'
import { MEBIBYTE } from '../../limits.ts'
import { checkMayWrite } from '../access/authority.ts'
import type { Author } from '../commits/commit-context.ts'
import { buildChange } from '../commits/commit.ts'
import type { PlannedRow } from '../commits/new-rows.ts'
import { readMemory } from '../history/contents.ts'
import type { StoreSession } from '../session/session.ts'
import type { LiveMemory } from '../snapshot/live-memory.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'

/** One commit seals at most this much again, so that other writers need not wait long. */
const MEMORIES_PER_COMMIT = 512
const BYTES_PER_COMMIT = 8 * MEBIBYTE

/** Throws `store_archived`. */
export function checkCanReseal({ settings }: Snapshot): void {
  if (settings.value.archivedAt === undefined) return
  throw new StoreError(
    'store_archived',
    'The store is archived: its memories cannot be sealed again, only its keys be rotated',
  )
}

/** Returns the number of memories that were sealed again, in one or more commits. */
export async function resealMemories(session: StoreSession, author: Author): Promise<number> {
  for (let resealed = 0; ;) {
    const count = await resealSome(session, author)
    if (count === 0) return resealed
    resealed += count
  }
}

function resealSome(session: StoreSession, author: Author): Promise<number> {
  return session.writing(async () => {
    const { snapshot, contents, identity } = session
    checkMayWrite(snapshot, identity.deviceId, 'change')
    checkCanReseal(snapshot)
    const memories = nextMemories(snapshot)
    if (memories.length === 0) return { built: undefined, result: 0 }
    const rows = memories.map((memory): PlannedRow => {
      const { memoryId, versionId: base, path, size, sha256, created } = memory
      const content = readMemory(contents, memory)
      return { memoryId, base, operation: 'modified', path, content, size, sha256, created }
    })
    // The texts have passed the guard when they were written.
    await session.checkContents([], author)
    const context = await session.commitContext(session.nextTime(), author)
    const reason = author.reason ?? 'sealed again under new keys'
    const built = await buildChange(context, snapshot, rows, { ...author, reason })
    return { built, result: rows.length }
  }, true)
}

/** Some live memories that are sealed under an older epoch, by id; none if all are done. */
function nextMemories({ current, keyring }: Snapshot): readonly LiveMemory[] {
  const found: LiveMemory[] = []
  let bytes = 0
  for (const { live } of current.live()) {
    if (live.kid === keyring.kid) continue
    if (found.length > 0 && bytes + live.size > BYTES_PER_COMMIT) break
    bytes += live.size
    if (found.push(live) === MEMORIES_PER_COMMIT) break
  }
  return found.toSorted((a, b) => (a.memoryId < b.memoryId ? -1 : 1))
}

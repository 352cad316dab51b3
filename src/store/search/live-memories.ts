// Brings what a search has collected to the state of the newest head: after writes of this process
// and others, and after syncs. Knows memories by the ids of their versions, so that it does not
// matter which way a change came.

import type { WorkOptions } from '../../async.ts'
import { hasCode } from '../../errors.ts'
import { TimeSlice } from '../../time-slice.ts'
import { readOnce } from '../history/contents.ts'
import { isAtOrBelow } from '../history/versions.ts'
import type { StoreSession } from '../session/session.ts'
import type { LiveMemory } from '../snapshot/live-memory.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'

/** What collects documents. */
export interface Collection<D> {
  readonly size: number
  keys(): Iterable<string>
  find(key: string): D | undefined
  add(key: string, document: D, content: string, slice: TimeSlice): Promise<void>
  remove(key: string): void
}

/** Others may write faster than one memory is read: then the search is as of a moment ago. */
const ROUNDS = 8

/** By memory id. Reads those that are new. Throws `cancelled`, or what reading throws. */
export async function collectLive(
  session: StoreSession,
  collection: Collection<LiveMemory>,
  path: string,
  { signal, progress }: WorkOptions,
): Promise<void> {
  const slice = new TimeSlice(signal)
  for (let round = 0; round < ROUNDS; round += 1) {
    const { changed, gone } = await session.reading((snapshot) =>
      compare(snapshot, collection, path),
    )
    if (changed.length === 0 && gone.length === 0) return
    for (const memoryId of gone) collection.remove(memoryId)
    for (const [index, memory] of changed.entries()) {
      const content = readIfThere(session, memory)
      if (content === undefined) collection.remove(memory.memoryId)
      else await collection.add(memory.memoryId, memory, content, slice)
      if (!slice.isOver()) continue
      progress?.(index + 1, changed.length)
      await slice.next()
    }
  }
}

interface Changes {
  readonly changed: readonly LiveMemory[]
  /** Memory ids. */
  readonly gone: readonly string[]
}

function compare(snapshot: Snapshot, collection: Collection<LiveMemory>, path: string): Changes {
  const changed: LiveMemory[] = []
  let known = 0
  for (const { live } of snapshot.current.live()) {
    if (!isAtOrBelow(live.path, path)) continue
    const old = collection.find(live.memoryId)
    if (old !== undefined) known += 1
    if (old?.versionId !== live.versionId) changed.push(live)
  }
  if (known === collection.size) return { changed, gone: [] }
  const isGone = (memoryId: string): boolean => {
    const live = snapshot.current.get(memoryId)?.live
    return live === undefined || !isAtOrBelow(live.path, path)
  }
  return { changed, gone: [...collection.keys()].filter(isGone) }
}

/** Undefined if another process has redacted and erased it: the next comparison shows that. */
function readIfThere({ contents }: StoreSession, memory: LiveMemory): string | undefined {
  try {
    return readOnce(contents, memory)
  } catch (error) {
    if (hasCode(error, 'object_missing')) return undefined
    throw error
  }
}

// What merges of clones have combined, and which of that the user of this device has looked at.

import { z } from 'zod'
import { StoreError } from '../../errors.ts'
import type { Conflict } from '../../store/history/conflicts.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import { listOf, nothing, short } from './fields.ts'
import { type ConsoleContext, consoleOperation } from './operation.ts'

/** Merges beyond it are found in the histories of their memories. */
const mergesMax = 1000

export const mergesOperations = {
  'merges.list': consoleOperation({
    name: 'the list of merges',
    effect: 'read',
    input: z.strictObject({ limit: z.int().min(1).max(mergesMax).optional() }),
    run: async (context, { limit }) => ({ merges: (await rowsOf(context)).slice(0, limit) }),
  }),

  'merges.show': consoleOperation({
    name: 'the retrieval of merges',
    effect: 'read',
    input: z.strictObject({ versionId: short }),
    run: async (context, { versionId }) => {
      const { history } = context.store
      const merge = (await rowsOf(context)).find((row) => row.versionId === versionId)
      if (merge === undefined) throw new StoreError('not_found', 'There is no such merge')
      const result = await history.version(versionId)
      // A memory that a merge only moved has one input, which it does not list.
      const inputs = await Promise.all(merge.inputs.map((id) => history.version(id)))
      return { merge, inputs, result }
    },
  }),

  'merges.unseen': consoleOperation({
    name: 'the number of merges',
    effect: 'read',
    input: nothing,
    run: async ({ store, seen }) => {
      const looks = seen.read()
      const merges = await mergesOf(store)
      return { count: merges.filter(({ versionId }) => !looks.has(versionId)).length }
    },
  }),

  /** A note of this device, which the store does not have: readers take it too. */
  'merges.looked': consoleOperation({
    name: 'the mark of merges',
    effect: 'read',
    input: z.strictObject({ versionIds: listOf(mergesMax) }),
    run: async (context, { versionIds }) => {
      const known = new Map((await rowsOf(context)).map((row) => [row.versionId, row.isSeen]))
      // Undefined for any other commit.
      context.seen.mark(versionIds.filter((id) => known.get(id) === false))
      return {}
    },
  }),
}

/** The names are in the order of `inputDevices`, and may be empty. */
async function rowsOf({ store, seen, work }: ConsoleContext) {
  const [merges, names] = await Promise.all([mergesOf(store), store.devices.names(work)])
  const looks = seen.read()
  return merges.map((merge) => {
    const deviceNames = merge.inputDevices.map((id) => names.get(id) ?? '')
    return Object.assign({ isSeen: looks.has(merge.versionId), deviceNames }, merge)
  })
}

interface KnownMerges {
  readonly head: string
  readonly merges: Promise<readonly Conflict[]>
}

const known: WeakMap<MemoryStore, KnownMerges> = new WeakMap()

/** Newest first; looked for once for each head, since the whole history is. */
async function mergesOf(store: MemoryStore): Promise<readonly Conflict[]> {
  const { head } = await store.summary()
  const last = known.get(store)
  if (last?.head === head) return last.merges
  const merges = store.history.conflicts({ limit: mergesMax })
  known.set(store, { head, merges })
  // The next one who asks looks again.
  merges.catch(() => known.delete(store))
  return merges
}

// The history of the whole store: its points and their differences, the writers by day, and the
// merges of clones, of which the user of this device has reviewed some.

import { z } from 'zod'
import { StoreError } from '../../errors.ts'
import type { Page } from '../../page.ts'
import type { Conflict } from '../../store/history/conflicts.ts'
import type { TextState } from '../../store/history/history-diff.ts'
import type { GroupedChange, TimelineFilter, VersionGroup } from '../../store/history/timeline.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import { countHidden } from '../../text/visible.ts'
import {
  type MergeChoice,
  type OpenMerge,
  readMerge,
  settledText,
  settleMerge,
  settlingReason,
} from '../merges.ts'
import { operationsIn } from '../operation.ts'
import {
  type ConsoleContext,
  type ListInput,
  commit,
  hash,
  limitOf,
  listOf,
  pageFields,
  pointOf,
  reading,
  reasonField,
  short,
  time,
  writing,
} from './operation.ts'

const STRETCHES_MAX = 1000

const filter: z.ZodType<TimelineFilter> = z.strictObject({
  actorId: short.optional(),
  session: short.optional(),
  deviceId: short.optional(),
  operation: z.enum(['created', 'modified', 'deleted']).optional(),
  path: short.optional(),
  since: time.optional(),
  until: time.optional(),
  redacted: z.boolean().optional(),
})

/** A group of more memories reads no more texts. */
const COUNTED_MAX = 200

/** Where a day begins: an IANA name such as `Europe/Berlin`. */
const timeZone = z.string().max(64)

const choice: z.ZodType<MergeChoice> = z.union([
  z.strictObject({ keep: z.enum(['ours', 'theirs', 'both']) }),
  z.strictObject({ content: z.string() }),
])

/** Merges beyond it are found in the histories of their memories. */
const mergesMax = 1000

export const historyOperations = {
  'moment.density': reading(
    { stretches: z.int().min(1).max(STRETCHES_MAX) },
    async ({ store, work }, { stretches: most }) => {
      const stretches = await store.history.stretches(most, work)
      const last = stretches.at(-1)
      return { commits: last === undefined ? 0 : last.first + last.commits - 1, stretches }
    },
  ),

  'moment.find': operationsIn<ConsoleContext>()({
    name: 'the search for a moment',
    effect: 'read',
    input: z.union([
      z.strictObject({ position: z.int() }),
      z.strictObject({ time }),
      z.strictObject({ versionId: short }),
      z.strictObject({ commit }),
    ]),
    run: ({ store }, input) => store.history.place(input),
  }),

  'moment.compare': reading(
    { from: commit, to: commit.optional() },
    async ({ store, work }, { from, to }) => {
      const { changes, redacted } = await store.history.diff({ commit: from }, pointOf(to), work)
      const described = changes.map(({ memoryId, before, after }) => {
        return describeChange(memoryId, before, after)
      })
      return { changes: described, redacted }
    },
  ),

  'timeline.groups': reading(
    { filter, timeZone, ...pageFields },
    async ({ store, work }, { filter: wanted, timeZone: zone, ...page }) => {
      const found = await store.history.groups(wanted, { by: 'day', timeZone: zone }, work)
      return pageOf(found, page)
    },
  ),

  'timeline.group': reading(
    { versionId: short, filter, timeZone },
    async ({ store, work }, { versionId, filter: wanted, timeZone: zone }) => {
      const grouping = { by: 'day', timeZone: zone } as const
      const found = await store.history.group(versionId, wanted, grouping, work)
      const memories = found.changes.map(async (change, index) => {
        const hidden = index < COUNTED_MAX ? await hiddenIn(store, change) : 0
        return { ...change, hidden }
      })
      return { group: found.group, memories: await Promise.all(memories) }
    },
  ),

  'sessions.list': reading(
    {
      by: z.enum(['session', 'actor']),
      query: short.optional(),
      ...pageFields,
    },
    async ({ store, work }, { by, query = '', ...page }) => {
      const found = await store.history.groups({}, { by }, work)
      const wanted = query.toLowerCase()
      const matching = found.filter(({ session, actor }) => {
        return ((by === 'session' ? session : actor?.id) ?? '').toLowerCase().includes(wanted)
      })
      return pageOf(matching, page)
    },
  ),

  'merges.list': reading(
    { limit: z.int().min(1).max(mergesMax).optional() },
    async (context, { limit }) => ({ merges: (await rowsOf(context)).slice(0, limit) }),
  ),

  'merges.show': reading({ versionId: short }, async (context, { versionId }) => {
    const { history } = context.store
    const merge = (await rowsOf(context)).find((row) => row.versionId === versionId)
    if (merge === undefined) throw new StoreError('not_found', 'There is no such merge')
    const result = await history.version(versionId)
    // A memory that a merge only moved has one input, which it does not list.
    const inputs = await Promise.all(merge.inputs.map((id) => history.version(id)))
    return { merge, inputs, result, settling: await settlingOf(context, versionId) }
  }),

  /** Gives the memory the chosen text, and marks the merge as reviewed. */
  'merges.settle': writing(
    'the settling of merges',
    { versionId: short, choice, expectedSha256: hash, ...reasonField },
    async ({ store, writer, seen }, { versionId, reason, ...request }) => {
      const open = await readMerge(store, await mergesOf(store), versionId)
      const why = reason ?? settlingReason(open, request.choice)
      const applied = await settleMerge(writer(why), open, request)
      if (!seen.read().has(versionId)) seen.mark([versionId])
      return { commit: applied.commit, memoryId: open.merge.memoryId }
    },
  ),

  /** A note of this device, which the store does not have: readers take it too. */
  'merges.looked': reading({ versionIds: listOf(mergesMax) }, async (context, { versionIds }) => {
    const known = new Map((await rowsOf(context)).map((row) => [row.versionId, row.isSeen]))
    // Undefined for any other commit.
    context.seen.mark(versionIds.filter((id) => known.get(id) === false))
    return {}
  }),
}

function describeChange(
  memoryId: string,
  before: TextState | undefined,
  after: TextState | undefined,
) {
  const textDiffers = before?.content !== after?.content
  return { memoryId, before: before?.path, after: after?.path, textDiffers }
}

async function hiddenIn(store: MemoryStore, { after }: GroupedChange): Promise<number> {
  const { content = '' } = await store.history.version(after)
  return countHidden(content).count
}

/**
 * After the group that has had the version as its newest: a list that has grown continues there.
 */
function pageOf(found: readonly VersionGroup[], page: ListInput): Page<VersionGroup> {
  const { after } = page
  const last = after === undefined ? -1 : found.findIndex(({ versionId }) => versionId === after)
  const start = last + 1
  const data = found.slice(start, start + limitOf(page))
  const hasMore = start + data.length < found.length
  return { data, nextPage: hasMore ? data.at(-1)?.versionId : undefined }
}

export interface ListedMerge extends Conflict {
  readonly isSeen: boolean
  /** In the order of `inputDevices`; may be empty. */
  readonly deviceNames: readonly string[]
}

export async function rowsOf({
  store,
  seen,
  work,
}: ConsoleContext): Promise<readonly ListedMerge[]> {
  const [merges, names] = await Promise.all([mergesOf(store), store.devices.names(work)])
  const looks = seen.read()
  return merges.map((merge) => {
    const deviceNames = merge.inputDevices.map((id) => names.get(id) ?? '')
    return Object.assign({ isSeen: looks.has(merge.versionId), deviceNames }, merge)
  })
}

/**
 * The memory as it is now, and what each choice would make of it; undefined for one that is
 * refused. There is nothing to settle once the memory is deleted.
 */
async function settlingOf({ store }: ConsoleContext, versionId: string) {
  const open = await readMerge(store, await mergesOf(store), versionId)
  const { current, sides } = open
  if (current === undefined) return undefined
  const { content, path, sha256 } = current
  return { content, path, sha256, ours: describe('ours'), theirs: describe('theirs') }

  function describe(keep: 'ours' | 'theirs') {
    if (sides === undefined) return undefined
    const { version, deviceName, isThisDevice } = sides[keep]
    const side = { versionId: version.versionId, deviceName, isThisDevice }
    return { ...side, text: findSettled(open, keep) }
  }
}

/** Undefined for a choice that is refused; `content` is undefined if it deletes the memory. */
function findSettled(open: OpenMerge, keep: 'ours' | 'theirs') {
  try {
    const { path, content } = settledText(open, { keep }) ?? {}
    return { path, content }
  } catch (error) {
    if (error instanceof StoreError) return undefined
    throw error
  }
}

interface KnownMerges {
  readonly head: string
  readonly merges: Promise<readonly Conflict[]>
}

const known: WeakMap<MemoryStore, KnownMerges> = new WeakMap()

/** Newest first; looked for once for each head, since the whole history is. */
export async function mergesOf(store: MemoryStore): Promise<readonly Conflict[]> {
  const { head } = await store.summary()
  const last = known.get(store)
  if (last?.head === head) return last.merges
  const merges = store.history.conflicts({ limit: mergesMax })
  known.set(store, { head, merges })
  // After a failure the next question looks again, unless a newer one does already.
  merges.catch(() => known.get(store)?.merges === merges && known.delete(store))
  return merges
}

// The history of the whole store by who wrote when, and who has written at all.

import { z } from 'zod'
import type { Page } from '../../page.ts'
import type { GroupedChange, TimelineFilter, VersionGroup } from '../../store/history/timeline.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import { countHidden } from '../../text/visible.ts'
import { limitOf, pageFields, type PageInput, short, time } from './fields.ts'
import { consoleOperation } from './operation.ts'

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

export const timelineOperations = {
  'timeline.groups': consoleOperation({
    name: 'the timeline',
    effect: 'read',
    input: z.strictObject({ filter, timeZone, ...pageFields }),
    run: async ({ store, work }, { filter: wanted, timeZone: zone, ...page }) => {
      const found = await store.history.groups(wanted, { by: 'day', timeZone: zone }, work)
      return pageOf(found, page)
    },
  }),

  'timeline.group': consoleOperation({
    name: 'a group of the timeline',
    effect: 'read',
    input: z.strictObject({ versionId: short, filter, timeZone }),
    run: async ({ store, work }, { versionId, filter: wanted, timeZone: zone }) => {
      const grouping = { by: 'day', timeZone: zone } as const
      const found = await store.history.group(versionId, wanted, grouping, work)
      const memories = found.changes.map(async (change, index) => {
        const hidden = index < COUNTED_MAX ? await hiddenIn(store, change) : 0
        return { ...change, hidden }
      })
      return { group: found.group, memories: await Promise.all(memories) }
    },
  }),

  'sessions.list': consoleOperation({
    name: 'the list of sessions',
    effect: 'read',
    input: z.strictObject({
      by: z.enum(['session', 'actor']),
      query: short.optional(),
      ...pageFields,
    }),
    run: async ({ store, work }, { by, query = '', ...page }) => {
      const found = await store.history.groups({}, { by }, work)
      const wanted = query.toLowerCase()
      const matching = found.filter(({ session, actor }) => {
        return ((by === 'session' ? session : actor?.id) ?? '').toLowerCase().includes(wanted)
      })
      return pageOf(matching, page)
    },
  }),
}

async function hiddenIn(store: MemoryStore, { after }: GroupedChange): Promise<number> {
  const { content = '' } = await store.history.version(after)
  return countHidden(content).count
}

/**
 * After the group that has had the version as its newest: a list that has grown continues there.
 */
function pageOf(found: readonly VersionGroup[], page: PageInput): Page<VersionGroup> {
  const { after } = page
  const last = after === undefined ? -1 : found.findIndex(({ versionId }) => versionId === after)
  const start = last + 1
  const data = found.slice(start, start + limitOf(page))
  const hasMore = start + data.length < found.length
  return { data, nextPage: hasMore ? data.at(-1)?.versionId : undefined }
}

// Changes that wait for a review on this device: those by each session or actor since the user's
// last look, and the merges of clones. Each look is a note of this device.

import { hasCode } from '../../errors.ts'
import type {
  GroupedChange,
  UnreviewedGrouping,
  VersionGroup,
} from '../../store/history/timeline.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import { countChangedLines, type LineCounts } from '../../text/line-matches.ts'
import { countHidden } from '../../text/visible.ts'
import { checkNotCancelled } from '../../time-slice.ts'
import { type ListedMerge, mergesOf, rowsOf } from './history.ts'
import { type ConsoleContext, limitOf, listOf, pageFields, reading, short } from './operation.ts'

/** A memory that a writer has changed; without counts of lines if a text was erased. */
export interface ReviewedMemory extends GroupedChange, Partial<LineCounts> {
  /** Hidden characters of the text. */
  readonly hidden: number
}

/** A card lists no more memories, and a writer's page counts lines in no more. */
const LISTED_MAX = 5
const COUNTED_MAX = 200
const MARKS_MAX = 10_000

export const reviewOperations = {
  /** Newest first. */
  'review.list': reading(pageFields, async (context, page) => {
    const [groups, merges] = await Promise.all([groupsOf(context), rowsOf(context)])
    const found = [
      ...groups.map((group) => ({ kind: 'writer', time: group.last, group }) as const),
      ...merges
        .filter(({ isSeen }) => !isSeen)
        .map((merge) => ({ kind: 'merge', time: merge.time, merge }) as const),
    ].toSorted((a, b) => b.time - a.time)
    const start = found.findIndex((item) => idOf(item) === page.after) + 1
    const shown = found.slice(start, start + limitOf(page))
    const last = shown.at(-1)
    const hasMore = start + shown.length < found.length
    return {
      data: await Promise.all(shown.map((item) => cardOf(context, item))),
      nextPage: hasMore && last !== undefined ? idOf(last) : undefined,
      total: found.length,
      /**
       * Of all pages, with the first one: "keep all" keeps nothing that was not listed. `kept`
       * counts the cards.
       */
      ...(start === 0 ? marksOf(found) : { versionIds: [], kept: 0 }),
    }
  }),

  /** The changes by its writer since the last look; all of them if each was reviewed. */
  'review.show': reading({ versionId: short }, async (context, { versionId }) => {
    const { store, work } = context
    const groups = await groupsOf(context)
    const asked = (await store.history.group(versionId, {}, await groupingOf(context, []), work))
      .group
    const waiting = groups.find((group) => isOfOneWriter(group, asked))
    const reviewed = waiting === undefined ? [] : [...context.seen.read()]
    const grouping = await groupingOf(context, reviewed)
    const found = await store.history.group(waiting?.versionId ?? versionId, {}, grouping, work)
    return {
      group: found.group,
      isReviewed: waiting === undefined,
      deviceNames: await namesOf(context, found.group),
      memories: await described(context, found.changes, COUNTED_MAX),
    }
  }),

  'review.pending': reading({}, async (context) => {
    const looks = context.seen.read()
    const [groups, all] = await Promise.all([groupsOf(context), mergesOf(context.store)])
    const unseen = all.filter(({ versionId }) => !looks.has(versionId))
    const merges = unseen.map(({ memoryId, versionId }) => ({ memoryId, versionId }))
    return { writers: groups.length, merges }
  }),

  /**
   * Marks merges as reviewed, and the past of these versions for their writers. `changed` counts
   * the writers with other versions, which were not shown and still wait. A note of this device,
   * which the store does not have.
   */
  'review.keep': reading({ versionIds: listOf(MARKS_MAX) }, async (context, { versionIds }) => {
    const [groups, merges] = await Promise.all([groupsOf(context), mergesOf(context.store)])
    const looks = context.seen.read()
    const mergeIds = new Set(merges.map(({ versionId }) => versionId))
    const byTip = new Map(groups.flatMap((group) => group.tips.map((id) => [id, group] as const)))
    const marks: string[] = []
    const kept = new Set<VersionGroup | string>()
    for (const id of versionIds.filter((one) => !looks.has(one))) {
      const found = mergeIds.has(id)
        ? id
        : (byTip.get(id) ?? (await findGroup(context, groups, id)))
      if (found === undefined) continue
      marks.push(id)
      kept.add(found)
    }
    context.seen.mark(marks)
    const waiting = await groupsOf(context)
    const changed = [...kept].filter((one) => {
      return typeof one === 'object' && waiting.some((group) => isOfOneWriter(group, one))
    })
    return { kept: kept.size, changed: changed.length }
  }),
}

type Waiting =
  | { readonly kind: 'writer'; readonly time: number; readonly group: VersionGroup }
  | { readonly kind: 'merge'; readonly time: number; readonly merge: ListedMerge }

function idOf(item: Waiting): string {
  return item.kind === 'writer' ? item.group.versionId : item.merge.versionId
}

/** The versions to mark for the first of these cards. */
function marksOf(found: readonly Waiting[]): { versionIds: readonly string[]; kept: number } {
  const versionIds: string[] = []
  let kept = 0
  for (const item of found) {
    const marks = item.kind === 'writer' ? item.group.tips : [idOf(item)]
    if (versionIds.length + marks.length > MARKS_MAX) break
    versionIds.push(...marks)
    kept += 1
  }
  return { versionIds, kept }
}

async function findGroup(
  { store }: ConsoleContext,
  groups: readonly VersionGroup[],
  versionId: string,
): Promise<VersionGroup | undefined> {
  const writer = await findWriter(store, versionId)
  return writer && groups.find((group) => isOfOneWriter(group, writer))
}

type GroupWriter = Pick<VersionGroup, 'session' | 'actor'>

/** Undefined for a version that is not in the history. */
async function findWriter(store: MemoryStore, versionId: string): Promise<GroupWriter | undefined> {
  try {
    const { session, createdBy } = await store.history.version(versionId)
    return { session, actor: createdBy }
  } catch (error) {
    if (hasCode(error, 'not_found', 'invalid_input')) return undefined
    throw error
  }
}

function isOfOneWriter(a: GroupWriter, b: GroupWriter): boolean {
  if (a.session !== b.session) return false
  return a.session !== undefined || (a.actor?.type === b.actor?.type && a.actor?.id === b.actor?.id)
}

export async function groupsOf(context: ConsoleContext): Promise<readonly VersionGroup[]> {
  const grouping = await groupingOf(context, [...context.seen.read()])
  return context.store.history.groups({}, grouping, context.work)
}

async function groupingOf(
  { store }: ConsoleContext,
  reviewed: readonly string[],
): Promise<UnreviewedGrouping> {
  const { deviceId: ownDevice } = await store.summary()
  return { by: 'unreviewed', reviewed, ownDevice }
}

async function cardOf(context: ConsoleContext, item: Waiting) {
  if (item.kind === 'merge') return { ...item, versionId: idOf(item) }
  const { store, seen, work } = context
  const { group } = item
  const grouping = await groupingOf(context, [...seen.read()])
  const { changes } = await store.history.group(group.versionId, {}, grouping, work)
  return {
    ...item,
    versionId: group.versionId,
    deviceNames: await namesOf(context, group),
    memories: await described(context, changes.slice(0, LISTED_MAX), LISTED_MAX),
  }
}

async function namesOf({ store, work }: ConsoleContext, { deviceIds }: VersionGroup) {
  const names = await store.devices.names(work)
  return deviceIds.map((id) => names.get(id) ?? '')
}

async function described(
  { store, work }: ConsoleContext,
  changes: readonly GroupedChange[],
  most: number,
): Promise<readonly ReviewedMemory[]> {
  const found: ReviewedMemory[] = []
  for (const [index, change] of changes.entries()) {
    checkNotCancelled(work.signal)
    const counts = index < most ? await countsOf(store, change) : { hidden: 0 }
    found.push(Object.assign({}, change, counts))
  }
  return found
}

async function countsOf(store: MemoryStore, { before, after, operation }: GroupedChange) {
  const now = await store.history.version(after)
  const then = before === undefined ? undefined : await store.history.version(before)
  const hidden = countHidden(now.content ?? '').count
  if (now.redactedAt !== undefined || then?.redactedAt !== undefined) return { hidden }
  const text = operation === 'deleted' ? '' : (now.content ?? '')
  return { hidden, ...countChangedLines(then?.content ?? '', text) }
}

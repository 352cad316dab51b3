// The filter of the timeline. It is kept in RAM alone, even while the user looks at a group and
// comes back: sessions, paths and actors never enter an address.

import { computed, signal } from '@preact/signals'
import type { Actor, TimelineFilter } from '../../../../api/console/contract.ts'
import { forgetAtEnd } from '../../core/session.ts'
import { moment } from '../../core/state.ts'

export const timelineFilter = signal<TimelineFilter>({})

forgetAtEnd(() => {
  timelineFilter.value = {}
})

/** The question: in the past, nothing later. */
export const effectiveFilter = computed((): TimelineFilter => {
  const { value: filter } = timelineFilter
  const latest = moment.value?.time
  if (latest === undefined) return filter
  return { ...filter, until: Math.min(filter.until ?? latest, latest) }
})

/** Determines the start of a day. */
export const timeZone = Intl.DateTimeFormat().resolvedOptions().timeZone

/** Adds the given fields to the filter; undefined removes a field. */
export function filterBy(part: TimelineFilter): void {
  const all = Object.entries({ ...timelineFilter.value, ...part })
  timelineFilter.value = Object.fromEntries(all.filter(([, value]) => value !== undefined))
}

/** The writer: the session if there is one, which is undone as a whole. */
export function writerFilter(
  session: string | undefined,
  actor: Actor | undefined,
): TimelineFilter {
  return session === undefined ? { actorId: actor?.id } : { session }
}

// What the timeline is filtered by. It is kept in RAM alone, and stays while the user looks at a
// group and comes back: sessions, paths and actors never enter an address.

import { computed, signal } from '@preact/signals'
import type { Actor, TimelineFilter } from '../../../../api/console/contract.ts'
import { forgetAtEnd } from '../../core/session.ts'
import { moment } from '../../core/state.ts'

export const timelineFilter = signal<TimelineFilter>({})

forgetAtEnd(() => {
  timelineFilter.value = {}
})

/** What is asked for: in the past, nothing that is later. */
export const effectiveFilter = computed((): TimelineFilter => {
  const { value: filter } = timelineFilter
  const latest = moment.value?.time
  if (latest === undefined) return filter
  return { ...filter, until: Math.min(filter.until ?? latest, latest) }
})

/** Says where a day begins. */
export const timeZone = Intl.DateTimeFormat().resolvedOptions().timeZone

/** Adds what is given to the filter; undefined takes it away. */
export function filterBy(part: TimelineFilter): void {
  const all = Object.entries({ ...timelineFilter.value, ...part })
  timelineFilter.value = Object.fromEntries(all.filter(([, value]) => value !== undefined))
}

/** Who wrote: the session if there is one, since it is what is undone as a whole. */
export function writerFilter(
  session: string | undefined,
  actor: Actor | undefined,
): TimelineFilter {
  return session === undefined ? { actorId: actor?.id } : { session }
}

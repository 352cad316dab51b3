// The filter of the timeline. It is kept in RAM alone, even while the user looks at a group and
// comes back: sessions, paths and actors never enter an address.

import { computed, signal } from '@preact/signals'
import { type ComponentChildren, createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { Actor, TimelineFilter } from '../../../../operations/console/contract.ts'
import { forgetAtEnd } from '../../core/session.ts'
import { moment } from '../../core/state.ts'
import { useAsk } from '../../core/use-ask.ts'

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

interface Names {
  readonly deviceIds: readonly string[]
  /** The name of a device, or its id. */
  readonly nameOf: (deviceId: string) => string
}

const Context = createContext<Names>({ deviceIds: [], nameOf: shortId })

/** The names of devices, for people: rows have their ids. Asked for once for a whole view. */
export function DeviceNames({ children }: { readonly children: ComponentChildren }) {
  const { data } = useAsk('devices.list', {})
  const names = new Map(data?.devices.map(({ deviceId, name }) => [deviceId, name]))
  const nameOf = (deviceId: string): string => {
    const name = names.get(deviceId) ?? ''
    return name === '' ? shortId(deviceId) : name
  }
  return (
    <Context.Provider value={{ deviceIds: [...names.keys()], nameOf }}>{children}</Context.Provider>
  )
}

export function useDeviceNames(): Names {
  return useContext(Context)
}

/** Its last digits tell ids apart; the first ones are often alike. */
function shortId(id: string): string {
  return `…${id.slice(-6)}`
}

// The history of the whole store: who wrote when, by session and day. The actor, the session, the
// devices and the operations of a row are buttons that filter by them.

import { Fragment } from 'preact'
import type { TimelineFilter, TimelineGroup } from '../../../../operations/console/contract.ts'
import { addressOf } from '../../core/address.ts'
import { isPast } from '../../core/state.ts'
import { Failure, Heading, writerOf } from '../../parts/labels.tsx'
import { Pager, usePages } from '../../parts/pager.tsx'
import { countOf, dayText, spanText } from '../../parts/times.ts'
import { FilterBar } from './filter-bar.tsx'
import {
  DeviceNames,
  effectiveFilter,
  filterBy,
  timeZone,
  useDeviceNames,
  writerFilter,
} from './filter.tsx'
import { GroupPage } from './group-page.tsx'

const GROUPS_A_PAGE = 50

export function TimelinePage({ versionId }: { readonly versionId?: string | undefined }) {
  return (
    <DeviceNames>
      {versionId === undefined ? <Groups /> : <GroupPage versionId={versionId} />}
    </DeviceNames>
  )
}

function Groups() {
  const filter = effectiveFilter.value
  const { data, failure, paging } = usePages('timeline.groups', {
    filter,
    timeZone,
    limit: GROUPS_A_PAGE,
  })
  return (
    <>
      <Heading title="Timeline" />
      <FilterBar />
      <p class="meta" role="status">
        {isPast.value && 'Up to the moment that is shown. '}
        {data === undefined && failure === undefined && 'Reading…'}
        {data?.data.length === 0 && 'Nothing was written that matches.'}
      </p>
      <Failure failure={failure} />
      {data !== undefined &&
        daysOf(data.data).map(({ day, groups }) => (
          <section class="day" key={day} aria-label={dayText(day)}>
            <h2>{dayText(day)}</h2>
            <ul>
              {groups.map((group) => (
                <GroupRow key={group.versionId} group={group} />
              ))}
            </ul>
          </section>
        ))}
      <Pager label="Timeline" paging={paging} />
    </>
  )
}

interface Day {
  readonly day: string
  readonly groups: readonly TimelineGroup[]
}

function daysOf(groups: readonly TimelineGroup[]): readonly Day[] {
  const days = new Map<string, TimelineGroup[]>()
  for (const group of groups) days.set(group.day, [...(days.get(group.day) ?? []), group])
  return [...days].map(([day, ofDay]) => ({ day, groups: ofDay }))
}

function GroupRow({ group }: { readonly group: TimelineGroup }) {
  const { versionId, session, actor, memories, first, last, redacted } = group
  return (
    <li class="group">
      <span class="who-wrote">
        <By filter={writerFilter(session, actor)} words={writerOf({ session, createdBy: actor })} />
        <span class="tag">{session === undefined ? (actor?.type ?? 'redacted') : 'session'}</span>
        {session !== undefined && actor !== undefined && actor.id !== session && (
          <By filter={{ actorId: actor.id }} words={actor.id} />
        )}
      </span>
      <a class="what" href={addressOf.group(versionId)}>
        {countOf(memories, 'memory')}
      </a>
      <span class="counts">
        <Counts group={group} />
        {redacted > 0 && <By filter={{ redacted: true }} words={`${redacted} redacted`} />}
      </span>
      <Devices deviceIds={group.deviceIds} />
      <span class="dim">{spanText(first, last)}</span>
    </li>
  )
}

const OPERATIONS = ['created', 'modified', 'deleted'] as const

function Counts({ group }: { readonly group: TimelineGroup }) {
  return (
    <>
      {OPERATIONS.filter((operation) => group[operation] > 0).map((operation) => (
        <By key={operation} filter={{ operation }} words={`${group[operation]} ${operation}`} />
      ))}
    </>
  )
}

function Devices({ deviceIds }: { readonly deviceIds: readonly string[] }) {
  const { nameOf } = useDeviceNames()
  return (
    <span class="devices">
      {deviceIds.map((deviceId, index) => (
        <Fragment key={deviceId}>
          {index > 0 && ', '}
          <By filter={{ deviceId }} words={nameOf(deviceId)} />
        </Fragment>
      ))}
    </span>
  )
}

function By({ filter, words }: { readonly filter: TimelineFilter; readonly words: string }) {
  return (
    <button type="button" class="by" title="Filter by this" onClick={() => filterBy(filter)}>
      {words}
    </button>
  )
}

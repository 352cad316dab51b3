// The history of the whole store: who wrote when, by session and day. The actor, the session, the
// devices and the operations of a row are buttons that filter by them. A group
// has a page of its own: a tree of its memories, each with its difference.

import { Fragment } from 'preact'
import type {
  GroupedMemory,
  TimelineFilter,
  TimelineGroup,
} from '../../../../operations/console/contract.ts'
import { addressOf } from '../../core/address.ts'
import { isPast } from '../../core/state.ts'
import { useAsk } from '../../core/use-ask.ts'
import { ChangeTree } from '../../parts/change-tree.tsx'
import { VersionsDiff } from '../../parts/diff-table.tsx'
import { Failure, Heading, Pending, writerOf } from '../../parts/labels.tsx'
import { Pager, usePages } from '../../parts/pager.tsx'
import { countOf, dayText, spanText } from '../../parts/times.ts'
import { FilterBar } from './filter-bar.tsx'
import {
  DeviceNames,
  effectiveFilter,
  filterBy,
  timelineFilter,
  timeZone,
  useDeviceNames,
  writerFilter,
} from './filter.tsx'

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
        {data?.data.length === 0 &&
          (isFiltered() ? 'Nothing matches.' : 'Nothing was written yet.')}
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

function isFiltered(): boolean {
  return Object.keys(timelineFilter.value).length > 0
}

function daysOf(groups: readonly TimelineGroup[]) {
  const days = new Map<string, TimelineGroup[]>()
  for (const group of groups) days.set(group.day, [...(days.get(group.day) ?? []), group])
  return [...days].map(([day, ofDay]) => ({ day, groups: ofDay }))
}

function GroupRow({ group }: { readonly group: TimelineGroup }) {
  const { versionId, session, actor, memories, first, last, redacted, reasons } = group
  return (
    <li class="group">
      <span class="who-wrote">
        <By filter={writerFilter(session, actor)} words={writerOf({ session, createdBy: actor })} />
        <span class="tag">{session === undefined ? (actor?.type ?? 'redacted') : 'session'}</span>
        {session !== undefined && actor !== undefined && actor.id !== session && (
          <By filter={{ actorId: actor.id }} words={actor.id} />
        )}
      </span>
      <span class="why">
        {reasons.map((reason) => (
          <q key={reason}>{reason}</q>
        ))}
      </span>
      <span class="counts">
        <a class="what" href={addressOf.group(versionId)}>
          {countOf(memories, 'memory')}
        </a>
        <Counts group={group} />
        {redacted > 0 && <By filter={{ redacted: true }} words={`${redacted} redacted`} />}
      </span>
      <Devices deviceIds={group.deviceIds} />
      <span class="dim at">{spanText(first, last)}</span>
    </li>
  )
}

const OPERATIONS = [
  ['created', '+'],
  ['modified', '~'],
  ['deleted', '−'],
] as const

function Counts({ group }: { readonly group: TimelineGroup }) {
  return (
    <>
      {OPERATIONS.filter(([operation]) => group[operation] > 0).map(([operation, sign]) => {
        const count = group[operation].toLocaleString()
        return (
          <By
            key={operation}
            class={operation}
            filter={{ operation }}
            words={sign + count}
            label={`${count} ${operation}`}
          />
        )
      })}
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

interface ByProps {
  readonly filter: TimelineFilter
  readonly words: string
  /** Read aloud by screen readers, and shown as a tip. */
  readonly label?: string
  readonly class?: string
}

function By({ filter, words, label = words, class: kind = '' }: ByProps) {
  return (
    <button
      type="button"
      class={`by ${kind}`}
      aria-label={label}
      title={`Filter by ${label}`}
      onClick={() => filterBy(filter)}
    >
      {words}
    </button>
  )
}

function GroupPage({ versionId }: { readonly versionId: string }) {
  const filter = effectiveFilter.value
  const { data, failure } = useAsk('timeline.group', { versionId, filter, timeZone })
  return (
    <>
      <nav aria-label="Where this is">
        <a class="up" href={addressOf.view('timeline')}>
          ‹ Timeline
        </a>
      </nav>
      <GroupHeading group={data?.group} />
      {isFiltered() && <FilterBar />}
      {data === undefined && <Pending failure={failure} />}
      {data !== undefined && data.memories.length > 0 && (
        <ChangeTree label="What changed" changes={data.memories.map(asTreeChange)}>
          {({ memoryId }) => (
            <GroupedDiff memory={data.memories.find((one) => one.memoryId === memoryId)} />
          )}
        </ChangeTree>
      )}
    </>
  )
}

function GroupHeading({ group }: { readonly group: TimelineGroup | undefined }) {
  const { nameOf } = useDeviceNames()
  if (group === undefined) return <h1>Changes</h1>
  const { versionId, session, actor, day, first, last, deviceIds, memories } = group
  const undo = session === undefined ? addressOf.actor(versionId) : addressOf.session(versionId)
  return (
    <>
      <Heading
        title={
          <>
            {session ?? actor?.id ?? 'Changes'}{' '}
            <span class="tag">{session === undefined ? actor?.type : 'session'}</span>
          </>
        }
      >
        {(session ?? actor) !== undefined && (
          <a class="button" href={undo}>
            Undo {session === undefined ? 'the actor' : 'the session'}…
          </a>
        )}
      </Heading>
      <p class="meta">
        {dayText(day)}, {spanText(first, last)} · {countOf(memories, 'memory')} ·{' '}
        {deviceIds.map(nameOf).join(', ')}
      </p>
    </>
  )
}

function asTreeChange(memory: GroupedMemory) {
  const { memoryId, path, movedFrom, operation, versions, redacted, hidden } = memory
  const notes = [
    ...(versions > 1 ? [countOf(versions, 'version')] : []),
    ...(hidden > 0 ? [countOf(hidden, 'hidden character')] : []),
  ]
  const note = notes.length === 0 ? undefined : notes.join(', ')
  return { memoryId, path, movedFrom, operation, isRedacted: redacted > 0, note }
}

function GroupedDiff({ memory }: { readonly memory: GroupedMemory | undefined }) {
  if (memory === undefined) return <p class="dim">It no longer exists.</p>
  const { memoryId, before, after, path } = memory
  return (
    <>
      <p>
        <a
          class="button"
          href={addressOf.memory(memoryId, { tab: 'changes', from: before, to: after })}
        >
          Open
        </a>
      </p>
      <VersionsDiff before={before} after={after} label={`${path ?? memoryId}, before and after`} />
    </>
  )
}

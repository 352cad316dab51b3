// What one session, or one actor, wrote on one day: a tree of the memories, each with its
// difference from before to after.

import type { GroupedMemory, TimelineGroup } from '../../../../operations/console/contract.ts'
import { addressOf } from '../../core/address.ts'
import { useAsk } from '../../core/use-ask.ts'
import { ChangeTree } from '../../parts/change-tree.tsx'
import { Heading, Pending } from '../../parts/labels.tsx'
import { countOf, dayText, spanText } from '../../parts/times.ts'
import { VersionsDiff } from '../../parts/versions-diff.tsx'
import { FilterBar } from './filter-bar.tsx'
import { effectiveFilter, timeZone, timelineFilter, useDeviceNames } from './filter.tsx'

export function GroupPage({ versionId }: { readonly versionId: string }) {
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
      {Object.keys(timelineFilter.value).length > 0 && <FilterBar />}
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
        <a href={addressOf.memory(memoryId, { tab: 'changes', from: before, to: after })}>
          Open the memory
        </a>
      </p>
      <VersionsDiff before={before} after={after} label={`${path ?? memoryId}, before and after`} />
    </>
  )
}

// What one session, or one actor, wrote on one day: a tree of the memories, each with its
// difference from before to after.

import type { JSX } from 'preact'
import type { GroupedMemory, TimelineGroup } from '../../../../api/console/contract.ts'
import { addressOf } from '../../core/address.ts'
import { useAsk } from '../../core/use-ask.ts'
import { ChangeTree } from '../../parts/change-tree.tsx'
import { Failure } from '../../parts/failure.tsx'
import { countOf } from '../../parts/times.ts'
import { useDeviceNames } from './device-names.tsx'
import { FilterBar } from './filter-bar.tsx'
import { effectiveFilter, timelineFilter, timeZone } from './filter.ts'
import { dayText, spanText } from './spans.ts'
import { VersionsDiff } from './versions-diff.tsx'

export function GroupPage({ versionId }: { readonly versionId: string }): JSX.Element {
  const filter = effectiveFilter.value
  const { data, failure } = useAsk('timeline.group', { versionId, filter, timeZone })
  return (
    <>
      <nav aria-label="Where this is">
        <a class="up" href={addressOf.view('timeline')}>
          ‹ Timeline
        </a>
      </nav>
      <Heading group={data?.group} />
      {Object.keys(timelineFilter.value).length > 0 && <FilterBar />}
      {failure !== undefined && <Failure failure={failure} />}
      {data === undefined && failure === undefined && <p role="status">Reading…</p>}
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

function Heading({ group }: { readonly group: TimelineGroup | undefined }): JSX.Element {
  const { nameOf } = useDeviceNames()
  if (group === undefined) return <h1>What was written</h1>
  const { versionId, session, actor, day, first, last, deviceIds, memories } = group
  const undo = session === undefined ? addressOf.actor(versionId) : addressOf.session(versionId)
  return (
    <>
      <div class="crumbs">
        <h1>
          {session ?? actor?.id ?? 'What was written'}{' '}
          <span class="tag">{session === undefined ? actor?.type : 'session'}</span>
        </h1>
        <div class="acts">
          {(session ?? actor) !== undefined && (
            <a class="button" href={undo}>
              Undo {session === undefined ? 'the actor' : 'the session'}…
            </a>
          )}
        </div>
      </div>
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

function GroupedDiff({ memory }: { readonly memory: GroupedMemory | undefined }): JSX.Element {
  if (memory === undefined) return <p class="dim">It is gone.</p>
  const { memoryId, before, after, path } = memory
  return (
    <>
      <p>
        <a href={addressOf.memory(memoryId, { tab: 'changes', from: before, to: after })}>
          Open the memory
        </a>
      </p>
      <VersionsDiff before={before} after={after} label={path ?? memoryId} />
    </>
  )
}

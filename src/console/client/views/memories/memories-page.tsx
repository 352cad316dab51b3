// The first page: merges to review, and recent activity.

import { addressOf } from '../../core/address.ts'
import { isPast, overview } from '../../core/state.ts'
import { useAsk } from '../../core/use-ask.ts'
import { Heading, writerOf } from '../../parts/labels.tsx'
import { countOf, relativeTime, sizeText } from '../../parts/times.ts'
import { outcomeOf } from '../merges/merges-page.tsx'
import { timeZone } from '../timeline/filter.tsx'

const MERGES_SHOWN = 5
const GROUPS_SHOWN = 8

export function MemoriesPage() {
  const known = overview.value
  const { name = '', description = '', memories = 0, contentBytes = 0 } = known ?? {}
  const { archivedAt } = known ?? {}
  return (
    <>
      <Heading title={name === '' ? 'Memories' : name} />
      <p class="meta">
        {description}
        {description !== '' && <br />}
        {!isPast.value && `${countOf(memories, 'memory')}, ${sizeText(contentBytes)}. `}
        {archivedAt !== undefined && 'The store is archived: it can be read. '}
        Choose a memory, or press <kbd>?</kbd> for the keys.
      </p>
      {!isPast.value && <Merges />}
      {!isPast.value && <RecentGroups />}
    </>
  )
}

function Merges() {
  const { data } = useAsk('merges.list', {})
  const unseen = data?.merges.filter(({ isSeen }) => !isSeen) ?? []
  if (unseen.length === 0) return null
  return (
    <section class="banner" aria-labelledby="merges">
      <h2 id="merges">{countOf(unseen.length, 'merge')} to review</h2>
      <ul>
        {unseen.slice(0, MERGES_SHOWN).map((merge) => (
          <li key={merge.versionId}>
            <a href={addressOf.merge(merge.versionId)}>{merge.path ?? merge.memoryId}</a>{' '}
            {outcomeOf(merge)}
          </li>
        ))}
      </ul>
      {unseen.length > MERGES_SHOWN && <a href={addressOf.view('merges')}>All merges</a>}
    </section>
  )
}

function RecentGroups() {
  const { data } = useAsk('timeline.groups', { filter: {}, timeZone, limit: GROUPS_SHOWN })
  if (data === undefined || data.data.length === 0) return null
  return (
    <section>
      <h2>Recent activity</h2>
      <ul class="hits">
        {data.data.map(({ versionId, session, actor, memories, last }) => (
          <li key={versionId}>
            <a href={addressOf.group(versionId)}>{writerOf({ session, createdBy: actor })}</a>{' '}
            <span class="dim">
              {countOf(memories, 'memory')}, {relativeTime(last)}
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}

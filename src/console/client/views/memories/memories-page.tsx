// The first page: what needs a look, and what happened last.

import type { JSX } from 'preact'
import { addressOf } from '../../core/address.ts'
import { isPast, overview } from '../../core/state.ts'
import { useAsk } from '../../core/use-ask.ts'
import { countOf, sizeText } from '../../parts/times.ts'
import { outcomeOf } from '../merges/outcome.ts'
import { RecentGroups } from '../timeline/recent-groups.tsx'

const MERGES_SHOWN = 5

export function MemoriesPage(): JSX.Element {
  const known = overview.value
  const { name = '', description = '', memories = 0, contentBytes = 0 } = known ?? {}
  const { archivedAt } = known ?? {}
  return (
    <>
      <div class="crumbs">
        <h1>{name === '' ? 'Memories' : name}</h1>
      </div>
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

function Merges(): JSX.Element | null {
  const { data } = useAsk('merges.list', {})
  const unseen = data?.merges.filter(({ isSeen }) => !isSeen) ?? []
  if (unseen.length === 0) return null
  return (
    <section class="banner" aria-labelledby="merges">
      <h2 id="merges">{countOf(unseen.length, 'merge')} to look at</h2>
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

// The page of all memories, with recent activity, and the results of a search, which are
// shown while the words are typed: they are in no address.

import { useState } from 'preact/hooks'
import type { SearchInput } from '../../../../operations/console/contract.ts'
import { addressOf, atNow } from '../../core/address.ts'
import { isPast, overview, searchWords } from '../../core/state.ts'
import { useAsk } from '../../core/use-ask.ts'
import { Check } from '../../parts/field.tsx'
import { Failure, Heading, writerOf } from '../../parts/labels.tsx'
import { Pager, usePages } from '../../parts/pager.tsx'
import { countOf, relativeTime, sizeText } from '../../parts/times.ts'
import { timeZone } from '../timeline/filter.tsx'

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
      {!isPast.value && <RecentGroups />}
    </>
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

type Options = Pick<SearchInput, 'regex' | 'fuzzy' | 'allVersions'>

const TOGGLES = [
  ['regex', 'Regular expression'],
  ['fuzzy', 'Similar words'],
  ['allVersions', 'All versions'],
] as const

export function SearchPage() {
  const [options, setOptions] = useState<Options>({})
  const query = searchWords.value.trim()
  return (
    <>
      <Heading title="Search" />
      <div class="filters">
        {TOGGLES.filter(([name]) => name !== 'allVersions' || !isPast.value).map(
          ([name, label]) => (
            <Check
              key={name}
              class="opt"
              label={label}
              isOn={options[name] === true}
              onTurn={(isOn) => setOptions({ ...options, [name]: isOn ? true : undefined })}
            />
          ),
        )}
      </div>
      {query === '' ? (
        <p class="dim">Type a search into the field above.</p>
      ) : (
        <Hits query={query} options={options} />
      )}
    </>
  )
}

function Hits({ query, options }: { readonly query: string; readonly options: Options }) {
  const at = atNow.value
  const input = { query, ...options, ...(at !== undefined && { at, allVersions: undefined }) }
  const { data, failure, paging } = usePages('memories.search', input)
  return (
    <>
      <p class="meta" role="status">
        {data === undefined && failure === undefined && 'Searching…'}
        {data?.data.length === 0 && 'Nothing was found.'}
      </p>
      <Failure failure={failure} />
      <ul class="hits">
        {data?.data.map(({ memory, snippet, line }) => (
          <li key={memory.versionId}>
            <a
              href={addressOf.memory(memory.memoryId, {
                tab: 'source',
                to: options.allVersions === true ? memory.versionId : undefined,
              })}
            >
              {memory.path}
            </a>{' '}
            <span class="dim">
              {line !== undefined && `line ${line} · `}
              {relativeTime(memory.updatedAt)}
            </span>
            <br />
            {snippet}
          </li>
        ))}
      </ul>
      <Pager label="Search" paging={paging} />
    </>
  )
}

// The results of a search, while the words are typed. They are in no address.

import { useState } from 'preact/hooks'
import type { SearchInput } from '../../../../operations/console/contract.ts'
import { addressOf, atNow } from '../../core/address.ts'
import { isPast, searchWords } from '../../core/state.ts'
import { Check } from '../../parts/field.tsx'
import { Failure, Heading } from '../../parts/labels.tsx'
import { Pager, usePages } from '../../parts/pager.tsx'
import { relativeTime } from '../../parts/times.ts'

type Options = Pick<SearchInput, 'regex' | 'fuzzy' | 'allVersions'>

const toggles = [
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
        {toggles
          .filter(([name]) => name !== 'allVersions' || !isPast.value)
          .map(([name, label]) => (
            <Check
              key={name}
              class="opt"
              label={label}
              isOn={options[name] === true}
              onTurn={(isOn) => setOptions({ ...options, [name]: isOn ? true : undefined })}
            />
          ))}
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

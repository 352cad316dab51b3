// What a search finds, while the words are typed. They are in no address.

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { SearchInput } from '../../../../api/console/contract.ts'
import { addressOf, atNow } from '../../core/address.ts'
import { isPast, searchWords } from '../../core/state.ts'
import { Failure } from '../../parts/failure.tsx'
import { Pager, usePages } from '../../parts/pager.tsx'
import { relativeTime } from '../../parts/times.ts'

type Options = Pick<SearchInput, 'regex' | 'fuzzy' | 'allVersions'>

export function SearchPage(): JSX.Element {
  const [options, setOptions] = useState<Options>({})
  const query = searchWords.value.trim()
  return (
    <>
      <div class="crumbs">
        <h1>Search</h1>
      </div>
      <div class="filters">
        <Toggle label="Regular expression" name="regex" options={options} onSet={setOptions} />
        <Toggle label="Similar words" name="fuzzy" options={options} onSet={setOptions} />
        {!isPast.value && (
          <Toggle label="All versions" name="allVersions" options={options} onSet={setOptions} />
        )}
      </div>
      {query === '' ? (
        <p class="dim">Type what you look for into the field above.</p>
      ) : (
        <Hits query={query} options={options} />
      )}
    </>
  )
}

interface ToggleProps {
  readonly label: string
  readonly name: keyof Options
  readonly options: Options
  readonly onSet: (options: Options) => void
}

function Toggle({ label, name, options, onSet }: ToggleProps): JSX.Element {
  return (
    <label class="opt">
      <input
        type="checkbox"
        checked={options[name] === true}
        onChange={({ currentTarget: { checked } }) => {
          onSet({ ...options, [name]: checked ? true : undefined })
        }}
      />{' '}
      {label}
    </label>
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
      {failure !== undefined && <Failure failure={failure} />}
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

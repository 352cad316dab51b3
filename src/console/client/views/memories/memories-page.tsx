// The page of all memories, with recent activity, and the results of a search, which are
// shown while the words are typed: they are in no address.

import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { ResultOf, SearchInput } from '../../../../operations/console/contract.ts'
import { addressOf, atNow } from '../../core/address.ts'
import { isDrawerOpen, isPast, mayWrite, overview, searchWords } from '../../core/state.ts'
import { useAsk } from '../../core/use-ask.ts'
import { Check } from '../../parts/field.tsx'
import { Failure, Heading, writerOf } from '../../parts/labels.tsx'
import { Pager, type Paging, usePages } from '../../parts/pager.tsx'
import { countOf, relativeTime, sizeText } from '../../parts/times.ts'
import { timeZone } from '../timeline/filter.tsx'

const GROUPS_SHOWN = 8

export function MemoriesPage() {
  const known = overview.value
  const { name = '', description = '', memories = 0, contentBytes = 0 } = known ?? {}
  const { archivedAt } = known ?? {}
  return (
    <>
      <Heading title={name === '' ? 'Memories' : name}>
        <button type="button" class="pri narrow-only" onClick={() => (isDrawerOpen.value = true)}>
          Browse memories
        </button>
      </Heading>
      <p class="meta">
        {description}
        {description !== '' && <br />}
        {archivedAt !== undefined && 'The store is archived: it can be read. '}
        {memories === 0 && mayWrite.value ? (
          <>
            No memories yet. <a href={addressOf.newMemory()}>Write the first one</a>, or run{' '}
            <code>gitlocket setup claude-code --write</code> to connect an agent.
          </>
        ) : (
          <>
            {!isPast.value && `${countOf(memories, 'memory')}, ${sizeText(contentBytes)}. `}
            Choose a memory, or press <kbd>?</kbd> for the keys.
          </>
        )}
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
      <ul class="hits recent">
        {data.data.map(({ versionId, session, actor, memories, last, reasons }) => (
          <li key={versionId}>
            <a href={addressOf.group(versionId)}>{writerOf({ session, createdBy: actor })}</a>
            {reasons.slice(0, 1).map((reason) => (
              <q key={reason}>{reason}</q>
            ))}
            <span class="sp" />
            <span class="dim">
              {countOf(memories, 'memory')} · {relativeTime(last)}
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}

type SearchMarks = ResultOf<'memories.search'>['data'][number]['marks']
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
      {options.regex === true || hasWord(query) ? (
        <Hits query={query} options={options} />
      ) : (
        <p class="dim" role="status">
          {query === ''
            ? 'Type words into the field above: memories are found while you type.'
            : 'A search needs a letter or a digit. A regular expression finds other characters.'}
        </p>
      )}
    </>
  )
}

/** Whether the store can look for it. */
function hasWord(query: string): boolean {
  return /[\p{L}\p{N}\p{Extended_Pictographic}]/u.test(query)
}

const HITS_A_PAGE = 50

function Hits({ query, options }: { readonly query: string; readonly options: Options }) {
  const at = atNow.value
  const moment = at === undefined ? {} : { at, allVersions: undefined }
  const input = { query, ...options, ...moment, limit: HITS_A_PAGE }
  const { data, failure, paging } = usePages('memories.search', input, { keepsLast: true })
  // A regular expression is incomplete while someone types it.
  const isIncomplete = failure?.code === 'invalid_input'
  return (
    <>
      <p class="meta" role="status">
        {data === undefined && failure === undefined && 'Searching…'}
        {isIncomplete && failure.message}
        {data !== undefined && countText(data.data.length, options, paging)}
      </p>
      {!isIncomplete && <Failure failure={failure} />}
      <ul class="hits found" onKeyDown={moveInHits}>
        {data?.data.map(({ memory, snippet, marks, line }) => (
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
            {marked(snippet, marks)}
          </li>
        ))}
      </ul>
      <Pager label="Search" paging={paging} />
    </>
  )
}

function countText(hits: number, options: Options, { page, hasNext }: Paging): string {
  if (hits === 0) return 'Nothing was found.'
  const what = options.allVersions === true ? 'version' : 'memory'
  const all = page * HITS_A_PAGE + hits
  return hasNext ? `More than ${countOf(all, what)}, the best first` : countOf(all, what)
}

/** The snippet with its matches, which are in order and may overlap. */
function marked(snippet: string, marks: SearchMarks): readonly ComponentChildren[] {
  const parts: ComponentChildren[] = []
  let at = 0
  for (const [start, end] of marks) {
    if (start < at) continue
    parts.push(snippet.slice(at, start), <mark>{snippet.slice(start, end)}</mark>)
    at = end
  }
  return [...parts, snippet.slice(at)]
}

/** Arrow keys walk over the hits, and back into the field; Enter follows the link. */
function moveInHits(event: KeyboardEvent): void {
  const { currentTarget, key } = event
  const step = { ArrowDown: 1, ArrowUp: -1 }[key]
  if (!(currentTarget instanceof HTMLElement) || (step === undefined && key !== 'Escape')) return
  event.preventDefault()
  const links = [...currentTarget.querySelectorAll('a')]
  const at = links.findIndex((link) => link === document.activeElement)
  const next = step === undefined ? -1 : Math.min(at + step, links.length - 1)
  const target = links[next] ?? document.getElementById('search')
  target?.focus()
}

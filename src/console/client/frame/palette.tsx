// Opens anything by its name, from any view: memories, recent changes, sessions and commands. Names
// are in RAM alone while it is open.

import { useLocation } from 'preact-iso'
import { useEffect, useId, useMemo, useState } from 'preact/hooks'
import { addressAt, addressOf, atNow } from '../core/address.ts'
import { lock, openAnotherTab } from '../core/session.ts'
import { isPast, mayWrite, overview } from '../core/state.ts'
import { useAsk } from '../core/use-ask.ts'
import { Dialog } from '../parts/dialog.tsx'
import { fuzzyScore } from '../parts/fuzzy.ts'
import { writerOf } from '../parts/labels.tsx'
import { countOf, relativeTime } from '../parts/times.ts'
import { timeZone } from '../views/timeline/filter.tsx'
import { visibleViews } from './views.tsx'

interface Entry {
  readonly id: string
  readonly name: string
  readonly kind: 'memory' | 'change' | 'session' | 'command'
  /** A few more words. */
  readonly note?: string | undefined
  /** Ms since 1970; recent ones come first. */
  readonly time: number
  /** An address, or what to do. */
  readonly to: string | (() => void)
}

const SHOWN_MAX = 12
const CHANGES_MAX = 20
const SESSIONS_MAX = 50

export function Palette({ onClose }: { readonly onClose: () => void }) {
  const { route } = useLocation()
  const [query, setQuery] = useState('')
  const [active, setActive] = useState(0)
  const id = useId()
  const entries = useEntries()
  const found = useMemo(() => best(entries, query), [entries, query])
  const at = Math.min(active, found.length - 1)
  const choose = (entry: Entry | undefined): void => {
    if (entry === undefined) return
    onClose()
    if (typeof entry.to === 'string') route(entry.to)
    else entry.to()
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined && found.length > 0) setActive((at + step + found.length) % found.length)
    else if (event.key === 'Enter') choose(found[at])
    else return
    event.preventDefault()
  }
  return (
    <Dialog title="Go to" class="palette" onClose={onClose}>
      <input
        type="text"
        role="combobox"
        aria-label="A memory, change, session or command"
        placeholder="A memory, change, session or command"
        aria-expanded={found.length > 0}
        aria-controls={id}
        aria-activedescendant={found.length > 0 ? `${id}-${at}` : undefined}
        autocomplete="off"
        autofocus
        value={query}
        onInput={({ currentTarget }) => {
          setQuery(currentTarget.value)
          setActive(0)
        }}
        onKeyDown={onKeyDown}
      />
      <Found id={id} found={found} active={at} onChoose={choose} />
    </Dialog>
  )
}

interface FoundProps {
  readonly id: string
  readonly found: readonly Entry[]
  readonly active: number
  readonly onChoose: (entry: Entry) => void
}

function Found({ id, found, active, onChoose }: FoundProps) {
  useEffect(() => {
    document.getElementById(`${id}-${active}`)?.scrollIntoView({ block: 'nearest' })
  }, [active])
  return (
    <>
      <ul id={id} role="listbox" aria-label="Found">
        {found.map((entry, index) => (
          <li
            key={`${entry.kind} ${entry.id}`}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === active}
            onClick={() => onChoose(entry)}
          >
            <span class="name">{entry.name}</span>
            <span>
              {entry.note !== undefined && <span class="dim">{entry.note}</span>}{' '}
              <span class="tag">{entry.kind}</span>
            </span>
          </li>
        ))}
      </ul>
      {found.length === 0 && <p class="dim">Nothing has that name.</p>}
    </>
  )
}

function useEntries(): readonly Entry[] {
  const isMember = overview.value?.audience === 'member'
  const tree = useAsk('memories.tree', isMember ? { at: atNow.value } : undefined).data
  const changes = useAsk(
    'timeline.groups',
    isMember ? { filter: {}, timeZone, limit: CHANGES_MAX } : undefined,
  ).data
  const sessions = useAsk(
    'sessions.list',
    isMember ? { by: 'session', limit: SESSIONS_MAX } : undefined,
  ).data
  return useMemo(
    () => [
      ...commands(),
      ...(tree?.memories.map(({ memoryId, path, updatedAt }) => {
        const to = addressOf.memory(memoryId)
        return entryOf('memory', memoryId, path, { time: updatedAt, to })
      }) ?? []),
      ...(changes?.data.map(({ versionId, session, actor, memories, last }) => {
        const [to, note] = [addressOf.group(versionId), countOf(memories, 'memory')]
        const name = writerOf({ session, createdBy: actor })
        return entryOf('change', versionId, name, { time: last, to, note })
      }) ?? []),
      ...(sessions?.data.map(({ versionId, session = '', memories, last }) => {
        const [to, note] = [addressOf.session(versionId), countOf(memories, 'memory')]
        return entryOf('session', versionId, session, { time: last, to, note })
      }) ?? []),
    ],
    [tree, changes, sessions],
  )
}

type Rest = Pick<Entry, 'time' | 'to' | 'note'>

function entryOf(kind: Entry['kind'], id: string, name: string, { time, to, note }: Rest): Entry {
  const when = isPast.peek() ? undefined : relativeTime(time)
  return { kind, id, name, time, to, note: [note, when].filter(Boolean).join(', ') }
}

function commands(): readonly Entry[] {
  const all: readonly (readonly [name: string, to: Entry['to']])[] = [
    ...visibleViews().map(({ label, name }) => [label, addressOf.view(name)] as const),
    ...(mayWrite.peek() ? ([['New memory', addressOf.newMemory()]] as const) : []),
    ...(isPast.peek()
      ? ([['Back to now', addressAt(location.pathname + location.search, undefined)]] as const)
      : []),
    ['Open another tab', () => void openAnotherTab()],
    ['Lock', () => void lock()],
  ]
  return all.map(([name, to]) => ({ kind: 'command', id: name, name, time: 0, to }))
}

/** The best by name, then the most recent. */
function best(entries: readonly Entry[], query: string): readonly Entry[] {
  const scored = entries.flatMap((one) => {
    const score = query === '' ? 0 : fuzzyScore(query, one.name)
    return score === undefined ? [] : [{ one, score }]
  })
  const sorted = scored.toSorted((a, b) => b.score - a.score || b.one.time - a.one.time)
  return sorted.slice(0, SHOWN_MAX).map(({ one }) => one)
}

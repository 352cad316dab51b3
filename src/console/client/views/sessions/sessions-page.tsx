// The writers: sessions, or actors, each with its changes and the way to undo them.

import { signal } from '@preact/signals'
import { useLocation } from 'preact-iso'
import type { TimelineGroup } from '../../../../operations/console/contract.ts'
import { addressOf } from '../../core/address.ts'
import { mayWrite } from '../../core/state.ts'
import { Field, submitting } from '../../parts/field.tsx'
import { Failure, Heading } from '../../parts/labels.tsx'
import { ListTable } from '../../parts/list-table.tsx'
import { Pager, usePages } from '../../parts/pager.tsx'
import { longSpanText } from '../../parts/times.ts'
import { timelineFilter, writerFilter } from '../timeline/filter.tsx'

type By = 'session' | 'actor'

// In RAM alone: a session's name never enters an address. It is kept for the user's return.
const by = signal<By>('session')
const query = signal('')

const WRITERS_A_PAGE = 100

export function SessionsPage() {
  const { data, failure, paging } = usePages('sessions.list', {
    by: by.value,
    query: query.value === '' ? undefined : query.value,
    limit: WRITERS_A_PAGE,
  })
  return (
    <>
      <Heading title="Sessions and actors" />
      <Choose />
      <p class="meta" role="status">
        {data === undefined && failure === undefined && 'Reading…'}
        {data?.data.length === 0 &&
          (query.value === '' ? 'Nothing was written in a session.' : 'No name matches.')}
      </p>
      <Failure failure={failure} />
      {data !== undefined && data.data.length > 0 && <Writers writers={data.data} />}
      <Pager label="Sessions and actors" paging={paging} />
    </>
  )
}

function Choose() {
  return (
    <form class="filters" role="search" onSubmit={submitting(() => undefined)}>
      <span class="seg" role="group" aria-label="Writers">
        <Which name="session" words="Sessions" />
        <Which name="actor" words="Actors" />
      </span>
      <Field
        label="Filter by name"
        type="search"
        value={query.value}
        onValue={(value) => (query.value = value)}
      />
    </form>
  )
}

function Which({ name, words }: { readonly name: By; readonly words: string }) {
  return (
    <button type="button" aria-pressed={by.value === name} onClick={() => (by.value = name)}>
      {words}
    </button>
  )
}

function Writers({ writers }: { readonly writers: readonly TimelineGroup[] }) {
  const kind = by.value === 'session' ? 'Session' : 'Actor'
  return (
    <ListTable
      label={`${kind}s`}
      heads={[kind, 'When', 'Memories', 'Versions', <span class="sr">Actions</span>]}
    >
      {writers.map((writer) => (
        <WriterRow key={writer.versionId} writer={writer} />
      ))}
    </ListTable>
  )
}

function WriterRow({ writer }: { readonly writer: TimelineGroup }) {
  const { route } = useLocation()
  const { versionId, session, actor, first, last, versions, memories, redacted } = writer
  const name = by.value === 'session' ? session : actor?.id
  const undo = by.value === 'session' ? addressOf.session(versionId) : addressOf.actor(versionId)
  const undoWords = mayWrite.value ? 'Undo…' : 'Preview undo'
  return (
    <tr>
      <th scope="row">
        {name}{' '}
        {by.value === 'actor' && actor !== undefined && <span class="tag">{actor.type}</span>}
      </th>
      <td>{longSpanText(first, last)}</td>
      <td>{memories}</td>
      <td>
        {versions}
        {redacted > 0 && <span class="dim">, {redacted} redacted</span>}
      </td>
      <td class="row-acts">
        <button
          type="button"
          aria-label={`Changes: ${name}`}
          onClick={() => {
            timelineFilter.value = writerFilter(by.value === 'session' ? session : undefined, actor)
            route(addressOf.view('timeline'))
          }}
        >
          Changes
        </button>{' '}
        <a class="button" href={undo} aria-label={`${undoWords}: ${name}`}>
          {undoWords}
        </a>
      </td>
    </tr>
  )
}

// The writers: sessions, or actors, each with its changes and the way to undo them.

import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { useLocation } from 'preact-iso'
import { useId } from 'preact/hooks'
import type { TimelineGroup } from '../../../../api/console/contract.ts'
import { addressOf } from '../../core/address.ts'
import { mayWrite } from '../../core/state.ts'
import { Failure } from '../../parts/failure.tsx'
import { Pager, usePages } from '../../parts/pager.tsx'
import { timelineFilter, writerFilter } from '../timeline/filter.ts'
import { longSpanText } from '../timeline/spans.ts'

type By = 'session' | 'actor'

// In RAM alone: a session's name never enters an address. It is kept for the user's return.
const by = signal<By>('session')
const query = signal('')

const WRITERS_A_PAGE = 100

export function SessionsPage(): JSX.Element {
  const { data, failure, paging } = usePages('sessions.list', {
    by: by.value,
    query: query.value === '' ? undefined : query.value,
    limit: WRITERS_A_PAGE,
  })
  return (
    <>
      <div class="crumbs">
        <h1>Sessions and actors</h1>
      </div>
      <Choose />
      <p class="meta" role="status">
        {data === undefined && failure === undefined && 'Reading…'}
        {data?.data.length === 0 &&
          (query.value === '' ? 'Nothing was written in a session.' : 'None has that in its name.')}
      </p>
      {failure !== undefined && <Failure failure={failure} />}
      {data !== undefined && data.data.length > 0 && <Writers writers={data.data} />}
      <Pager label="Sessions and actors" paging={paging} />
    </>
  )
}

function Choose(): JSX.Element {
  const id = useId()
  return (
    <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      <span class="seg" role="group" aria-label="What is listed">
        <Which name="session" words="Sessions" />
        <Which name="actor" words="Actors" />
      </span>
      <span class="field">
        <label for={id}>With this in its name</label>
        <input
          id={id}
          type="search"
          autocomplete="off"
          value={query.value}
          onInput={(event) => (query.value = event.currentTarget.value)}
        />
      </span>
    </form>
  )
}

function Which({ name, words }: { readonly name: By; readonly words: string }): JSX.Element {
  return (
    <button type="button" aria-pressed={by.value === name} onClick={() => (by.value = name)}>
      {words}
    </button>
  )
}

function Writers({ writers }: { readonly writers: readonly TimelineGroup[] }): JSX.Element {
  const kind = by.value === 'session' ? 'Session' : 'Actor'
  return (
    <div class="wide-list" tabIndex={0} role="region" aria-label={`${kind}s`}>
      <table class="list">
        <thead>
          <tr>
            <th scope="col">{kind}</th>
            <th scope="col">When</th>
            <th scope="col">Memories</th>
            <th scope="col">Versions</th>
            <th scope="col">
              <span class="sr">What to do</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {writers.map((writer) => (
            <WriterRow key={writer.versionId} writer={writer} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function WriterRow({ writer }: { readonly writer: TimelineGroup }): JSX.Element {
  const { route } = useLocation()
  const { versionId, session, actor, first, last, versions, memories, redacted } = writer
  const name = by.value === 'session' ? session : actor?.id
  const undo = by.value === 'session' ? addressOf.session(versionId) : addressOf.actor(versionId)
  const undoWords = mayWrite.value ? 'Undo…' : 'What an undo would do'
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
          aria-label={`What it wrote: ${name}`}
          onClick={() => {
            timelineFilter.value = writerFilter(by.value === 'session' ? session : undefined, actor)
            route(addressOf.view('timeline'))
          }}
        >
          What it wrote
        </button>{' '}
        <a class="button" href={undo} aria-label={`${undoWords}: ${name}`}>
          {undoWords}
        </a>
      </td>
    </tr>
  )
}

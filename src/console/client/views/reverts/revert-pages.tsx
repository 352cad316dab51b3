// The views that take changes back: an undo of what a session or an actor wrote, the restore of one
// memory, and the rollback of many. Each opens with its plan.

import { useLocation } from 'preact-iso'
import { useState } from 'preact/hooks'
import { addressOf } from '../../core/address.ts'
import { useAsk } from '../../core/use-ask.ts'
import { Field, submitting, TimeFields, type TimeSpan } from '../../parts/field.tsx'
import { Failure, Heading, writerOf } from '../../parts/labels.tsx'
import { absoluteTime } from '../../parts/times.ts'
import { timelineFilter } from '../timeline/filter.tsx'
import { RevertView } from './revert-view.tsx'

interface UndoPageProps {
  /** One of the versions to undo. */
  readonly versionId: string
  readonly by: 'session' | 'actor'
}

/** The address may name the version from which on to undo. */
export function UndoPage({ versionId, by }: UndoPageProps) {
  const { query, route } = useLocation()
  const { since } = query
  const [chosen, choose] = useState<TimeSpan>()
  const { data } = useAsk('version.show', { versionId })
  const first = useAsk('version.show', since === undefined ? undefined : { versionId: since })
  const name = by === 'session' ? data?.session : data?.createdBy?.id
  const span = chosen ?? (first.data === undefined ? {} : { since: first.data.createdAt })
  // A button, not a link: the filter of the timeline never enters an address.
  const showChanges = (): void => {
    timelineFilter.value = by === 'session' ? { session: name } : { actorId: name }
    route(addressOf.view('timeline'))
  }
  return (
    <>
      <Heading title={`Undo ${by === 'session' ? 'a session' : 'an actor'}`}>
        {name !== undefined && (
          <button type="button" onClick={showChanges}>
            Changes
          </button>
        )}
      </Heading>
      <p class="meta">
        Removes {since === undefined ? 'everything that' : 'what'}{' '}
        {by === 'session' ? 'the session' : 'the actor'} <b>{name}</b> wrote
        {since !== undefined && ' since your last look'} and keeps what others wrote, in new
        versions. This can be taken back, too.
      </p>
      <form class="filters" onSubmit={submitting(() => undefined)}>
        <TimeFields span={span} onSpan={choose} />
      </form>
      <Failure failure={first.failure} />
      {(since === undefined || first.data !== undefined) && (
        <RevertView
          of={{ kind: 'undo', input: { versionId, by, ...span } }}
          verb="Undo"
          nothing="There is nothing to undo: nothing that it wrote is left."
        />
      )}
    </>
  )
}

/** One commit: such as an undo, which is taken back so. */
export function UndoChangePage({ versionId }: { readonly versionId: string }) {
  const { data } = useAsk('version.show', { versionId })
  return (
    <>
      <Heading title="Undo a change" />
      <p class="meta">
        Takes back what <b>{data === undefined ? 'one change' : writerOf(data)}</b> wrote
        {data !== undefined && ` on ${absoluteTime(data.createdAt)}`} in one commit, and keeps what
        was written later, in new versions. This can be taken back, too.
      </p>
      {data?.reason !== undefined && (
        <p class="reasons">
          <q>{data.reason}</q>
        </p>
      )}
      <RevertView
        of={{ kind: 'undo', input: { versionId, by: 'change' } }}
        verb="Undo"
        nothing="There is nothing to undo: nothing that it wrote is left."
      />
    </>
  )
}

/** To one of its versions, to its state at a commit, or to the state before its deletion. */
export function RestorePage({ memoryId }: { readonly memoryId: string }) {
  const { versionId, commit } = useLocation().query
  const { data } = useAsk('memory.show', { memoryId })
  return (
    <>
      <Heading title="Restore a memory">
        <a class="button" href={addressOf.memory(memoryId)}>
          Back to the memory
        </a>
      </Heading>
      <p class="meta">
        <b>{data?.path ?? memoryId}</b> gets the text and the path that it had then, in a new
        version. No other memory is changed, and its current text remains in its history.
      </p>
      <RevertView
        of={{ kind: 'restore', input: { memoryId, versionId, commit } }}
        verb="Restore"
        nothing="There is nothing to restore: the memory is as it was then."
      />
    </>
  )
}

/** Brings every memory, or those below a path, to the state that it had at a commit. */
export function RollbackPage({ commit }: { readonly commit: string }) {
  const { data } = useAsk('moment.find', { commit })
  const [typed, setTyped] = useState('')
  const [path, setPath] = useState<string>()
  return (
    <>
      <Heading title="Roll everything back">
        <a class="button" href={addressOf.compare(commit)}>
          Compare with now
        </a>
      </Heading>
      <p class="meta">
        Every memory gets the state that it had{' '}
        <b>{data === undefined ? 'then' : absoluteTime(data.time)}</b>
        {data !== undefined && `, at commit ${data.position} of ${data.commits}`}. Later memories
        are deleted. All of it remains in the history, and can be taken back.
      </p>
      {/* Not at every key: each plan may read the whole store. */}
      <form class="filters" onSubmit={submitting(() => setPath(typed.trim() || undefined))}>
        <Field label="Only at or below this path" value={typed} onValue={setTyped} />
        <button type="submit">Look</button>
      </form>
      <RevertView
        of={{ kind: 'rollback', input: { commit, path } }}
        verb="Roll back"
        nothing="There is nothing to roll back: all is as it was then."
      />
    </>
  )
}

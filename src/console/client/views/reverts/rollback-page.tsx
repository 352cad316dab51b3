// Brings every memory, or those below a path, to the state that it had at a commit.

import type { JSX } from 'preact'
import { useId, useState } from 'preact/hooks'
import { addressOf } from '../../core/address.ts'
import { ask } from '../../core/ask.ts'
import { useAsk } from '../../core/use-ask.ts'
import { absoluteTime } from '../../parts/times.ts'
import { RevertView } from './revert-view.tsx'

export function RollbackPage({ commit }: { readonly commit: string }): JSX.Element {
  const { data } = useAsk('moment.find', { commit })
  const [path, setPath] = useState('')
  const input = { commit, path: path === '' ? undefined : path }
  return (
    <>
      <div class="crumbs">
        <h1>Roll everything back</h1>
        <div class="acts">
          <a class="button" href={addressOf.compare(commit)}>
            Compare with now
          </a>
        </div>
      </div>
      <p class="meta">
        Every memory gets the state that it had{' '}
        <b>{data === undefined ? 'then' : absoluteTime(data.time)}</b>
        {data !== undefined && `, at commit ${data.position} of ${data.commits}`}. Later memories
        are deleted. All of it stays in the history, and can be taken back.
      </p>
      <PathForm onPath={setPath} />
      <RevertView
        questions={{
          key: JSON.stringify(input),
          plan: (options) => ask('rollback.plan', input, options),
          run: (confirmed, options) => ask('rollback.run', { ...input, ...confirmed }, options),
        }}
        verb="Roll back"
        nothing="There is nothing to roll back: all is as it was then."
      />
    </>
  )
}

/** Taken over as a whole: not at every key, since each plan may read the whole store. */
function PathForm({ onPath }: { readonly onPath: (path: string) => void }): JSX.Element {
  const [typed, setTyped] = useState('')
  const id = useId()
  return (
    <form
      class="filters"
      onSubmit={(event) => {
        event.preventDefault()
        onPath(typed.trim())
      }}
    >
      <label for={id}>Only at or below this path</label>
      <input
        autocomplete="off"
        id={id}
        value={typed}
        placeholder="/"
        onInput={(event) => setTyped(event.currentTarget.value)}
      />
      <button type="submit">Look</button>
    </form>
  )
}

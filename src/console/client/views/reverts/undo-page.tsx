// Undoes what a session, or an actor, wrote. Its address names one of its versions.

import type { JSX } from 'preact'
import { useLocation } from 'preact-iso'
import { useState } from 'preact/hooks'
import { addressOf } from '../../core/address.ts'
import { ask } from '../../core/ask.ts'
import { useAsk } from '../../core/use-ask.ts'
import { TimeFields, type TimeSpan } from '../../parts/time-fields.tsx'
import { timelineFilter } from '../timeline/filter.ts'
import { RevertView } from './revert-view.tsx'

interface UndoPageProps {
  readonly versionId: string
  readonly by: 'session' | 'actor'
}

export function UndoPage({ versionId, by }: UndoPageProps): JSX.Element {
  const [span, setSpan] = useState<TimeSpan>({})
  const input = { versionId, by, ...span }
  const { data } = useAsk('version.show', { versionId })
  const name = by === 'session' ? data?.session : data?.createdBy?.id
  return (
    <>
      <div class="crumbs">
        <h1>Undo {by === 'session' ? 'a session' : 'an actor'}</h1>
        <WhatItWrote by={by} name={name} />
      </div>
      <p class="meta">
        All that {by === 'session' ? 'the session' : 'the actor'} <b>{name}</b> wrote is taken out,
        and what others wrote stays. It is done in new versions, and can be taken back, too.
      </p>
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <TimeFields span={span} onSpan={setSpan} />
      </form>
      <RevertView
        questions={{
          key: JSON.stringify(input),
          plan: (options) => ask('undo.plan', input, options),
          run: (confirmed, options) => ask('undo.run', { ...input, ...confirmed }, options),
        }}
        verb="Undo"
        nothing="There is nothing to undo: nothing that it wrote is left."
      />
    </>
  )
}

interface WhatItWroteProps {
  readonly by: 'session' | 'actor'
  readonly name: string | undefined
}

/** A button, not a link: what the timeline is filtered by never enters an address. */
function WhatItWrote({ by, name }: WhatItWroteProps): JSX.Element | null {
  const { route } = useLocation()
  if (name === undefined) return null
  return (
    <div class="acts">
      <button
        type="button"
        onClick={() => {
          timelineFilter.value = by === 'session' ? { session: name } : { actorId: name }
          route(addressOf.view('timeline'))
        }}
      >
        What it wrote
      </button>
    </div>
  )
}

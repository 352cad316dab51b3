// The name and limits of the store, and the guard against secrets.

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { InputOf, SettingsView } from '../../../../api/console/contract.ts'
import { ask } from '../../core/ask.ts'
import { mayManage, notice } from '../../core/state.ts'
import { useAction } from '../../core/use-action.ts'
import { useAsk } from '../../core/use-ask.ts'
import { Failure } from '../../parts/failure.tsx'
import { Field } from '../../parts/field.tsx'
import { absoluteTime } from '../../parts/times.ts'
import { Guard } from './guard.tsx'

export function SettingsPage(): JSX.Element {
  const { data, failure } = useAsk('settings.show', {})
  return (
    <>
      <h1>Settings</h1>
      {failure !== undefined && <Failure failure={failure} />}
      {data !== undefined && (
        <>
          <p class="meta">
            Created {absoluteTime(data.createdAt)}, settings changed {absoluteTime(data.updatedAt)}
            {data.archivedAt !== undefined && `, archived ${absoluteTime(data.archivedAt)}`}
          </p>
          <SettingsForm settings={data} />
          <Guard isOn={data.guard} allowed={data.allowed} />
        </>
      )}
    </>
  )
}

interface Typed {
  readonly name?: string
  readonly description?: string
  readonly contentBytes?: string
  readonly memories?: string
}

/** The input is kept when someone else changes the settings; the other fields are theirs. */
function SettingsForm({ settings }: { readonly settings: SettingsView }): JSX.Element {
  const [typed, setTyped] = useState<Typed>({})
  const { run, isRunning, failure } = useAction<void>()
  const { name, description, limits } = settings
  const save = (): void => {
    void run(async () => {
      await ask('settings.update', changeOf(typed))
      setTyped({})
      notice.value = 'Saved'
    })
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        save()
      }}
    >
      <div class="form">
        <Field
          label="Name"
          value={typed.name ?? name}
          onValue={(value) => setTyped({ ...typed, name: value })}
        />
        <Field
          label="Description"
          value={typed.description ?? description}
          onValue={(value) => setTyped({ ...typed, description: value })}
        />
        <Field
          label="Bytes of a memory, at most"
          type="number"
          min={1}
          value={typed.contentBytes ?? String(limits.contentBytes)}
          onValue={(value) => setTyped({ ...typed, contentBytes: value })}
        />
        <Field
          label="Memories, at most"
          type="number"
          min={1}
          value={typed.memories ?? String(limits.memories)}
          onValue={(value) => setTyped({ ...typed, memories: value })}
        />
      </div>
      {mayManage.value ? (
        <div class="go">
          <button type="submit" class="pri" aria-disabled={isRunning}>
            Save
          </button>
          {failure !== undefined && <Failure failure={failure} />}
        </div>
      ) : (
        <p class="dim">An owner can change them.</p>
      )}
    </form>
  )
}

function changeOf({
  name,
  description,
  contentBytes,
  memories,
}: Typed): InputOf<'settings.update'> {
  return {
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    ...(contentBytes !== undefined && { contentBytes: Number(contentBytes) }),
    ...(memories !== undefined && { memories: Number(memories) }),
  }
}

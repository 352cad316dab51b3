// A new memory: its path and its text.

import { useLocation } from 'preact-iso'
import { useState } from 'preact/hooks'
import { addressOf } from '../../core/address.ts'
import { ask } from '../../core/ask.ts'
import { mayWrite } from '../../core/state.ts'
import { useAction } from '../../core/use-action.ts'
import { Field, submitting } from '../../parts/field.tsx'
import { Failure } from '../../parts/labels.tsx'
import { drafts, keepDraft, reasonIn } from './drafts.ts'
import { Editor } from './editor.tsx'

/** The id of the draft: a new memory has no id. */
const NEW = ''
const empty = { base: '', expectedSha256: '' }

export function NewMemoryPage() {
  const { route } = useLocation()
  const [path, setPath] = useState('/')
  const [reason, setReason] = useState('')
  const { run, isRunning, failure } = useAction<void>()
  if (!mayWrite.value) return <p>This console may look, but not write.</p>
  const save = (): void => {
    void run(async () => {
      const content = drafts.peek().get(NEW)?.text ?? ''
      const { memoryId } = await ask('memory.create', { path, content, ...reasonIn(reason) })
      keepDraft(NEW, undefined)
      route(addressOf.memory(memoryId))
    })
  }
  return (
    <>
      <h1>New memory</h1>
      <form onSubmit={submitting(save)}>
        <p>
          <Field label="Path" value={path} onValue={setPath} isRequired autoFocus />
        </p>
        <Editor
          label="Text of the new memory"
          text={drafts.peek().get(NEW)?.text ?? ''}
          theirs={undefined}
          onText={(text) => keepDraft(NEW, { ...empty, text, isChanged: true })}
          onSave={save}
        />
        <div class="go">
          <Field label="Reason (optional)" value={reason} onValue={setReason} />
          <span class="sp" />
          <button type="submit" class="pri" aria-disabled={isRunning}>
            Create
          </button>
          <Failure failure={failure} />
        </div>
      </form>
    </>
  )
}

// Edits a memory, and saves when told to. If somebody has changed it since, both texts are shown,
// and nothing is overwritten.

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { ask } from '../../core/ask.ts'
import { notice } from '../../core/state.ts'
import { useAction } from '../../core/use-action.ts'
import { Failure } from '../../parts/failure.tsx'
import { Field } from '../../parts/field.tsx'
import { type Draft, drafts, keepDraft } from './drafts.ts'
import { Editor } from './editor.tsx'
import { reasonIn } from './reason.ts'

interface EditFormProps {
  readonly memoryId: string
  readonly path: string
  readonly draft: Draft
  readonly onDone: () => void
}

/** A text that is there in place of the one that the edit began from. */
interface Theirs {
  readonly text: string
  readonly sha256: string
}

export function EditForm({ memoryId, path, draft, onDone }: EditFormProps): JSX.Element {
  const [reason, setReason] = useState('')
  const [theirs, setTheirs] = useState<Theirs>()
  const { run, isRunning, failure } = useAction<void>()
  const done = (): void => {
    keepDraft(memoryId, undefined)
    onDone()
  }
  const save = (): void => {
    void run(async () => {
      const { text: content } = drafts.peek().get(memoryId) ?? draft
      const expectedSha256 = theirs?.sha256 ?? draft.expectedSha256
      try {
        await ask('memory.update', { memoryId, content, expectedSha256, ...reasonIn(reason) })
      } catch (error) {
        const now = await otherText(memoryId, expectedSha256)
        if (now !== undefined) setTheirs(now)
        throw error
      }
      notice.value = 'Saved'
      done()
    })
  }
  return (
    <section class="edit" aria-label={`Edit ${path}`}>
      {theirs !== undefined && (
        <p class="banner" role="alert">
          Somebody has changed this memory since you began. Nothing was overwritten: at the left is
          what is there now, at the right your text. Take over what you need, then save.
        </p>
      )}
      <Editor
        label={`Text of ${path}`}
        text={drafts.peek().get(memoryId)?.text ?? draft.text}
        theirs={theirs?.text}
        onText={(text) => keepDraft(memoryId, { ...draft, text, isChanged: true })}
        onSave={save}
      />
      <form
        class="go"
        onSubmit={(event) => {
          event.preventDefault()
          save()
        }}
      >
        <Field label="Reason (optional)" value={reason} onValue={setReason} />
        <span class="sp" />
        <button type="button" onClick={done}>
          Discard
        </button>
        <button type="submit" class="pri" aria-disabled={isRunning}>
          Save
        </button>
        {failure !== undefined && <Failure failure={failure} />}
      </form>
    </section>
  )
}

/** Undefined if the text is the expected one, or the memory is gone. */
async function otherText(memoryId: string, expected: string): Promise<Theirs | undefined> {
  const now = await ask('memory.show', { memoryId }).catch(() => undefined)
  if (now?.state !== 'live' || now.sha256 === expected) return undefined
  return { text: now.content, sha256: now.sha256 }
}

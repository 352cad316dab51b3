// Edits a memory, and saves on request. Later changes by others are merged into the text and shown
// before it is saved; if the same lines were changed, the user chooses. The store merges.

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { MemoryView, MergedEdit } from '../../../../api/console/contract.ts'
import { ask, AskFailure } from '../../core/ask.ts'
import { notice } from '../../core/state.ts'
import { type Action, useAction } from '../../core/use-action.ts'
import { Failure } from '../../parts/failure.tsx'
import { Field } from '../../parts/field.tsx'
import { Writer } from '../../parts/labels.tsx'
import { type Draft, drafts, keepDraft } from './drafts.ts'
import { Editor } from './editor.tsx'
import { Overlaps, overlapsIn } from './overlaps.tsx'
import { reasonIn } from './reason.ts'

type LiveView = Extract<MemoryView, { readonly state: 'live' }>

interface EditFormProps {
  /** The memory as it is, which others may change at any time. */
  readonly now: LiveView
  readonly draft: Draft
  readonly onDone: () => void
}

interface Edit {
  /** The newest merge, if there was one. */
  readonly merged: MergedEdit | undefined
  /** Whether it has places for which nothing is chosen yet. */
  readonly isOpen: boolean
  readonly choose: (text: string) => void
  readonly save: () => void
  readonly action: Pick<Action<void>, 'isRunning' | 'failure'>
}

function useEdit({ now, draft }: EditFormProps, reason: string, done: () => void): Edit {
  const { memoryId } = now
  const [merged, setMerged] = useState<MergedEdit>()
  const [isOpen, setOpen] = useState(false)
  const { run, ...action } = useAction<void>()
  const take = (text: string, { content: base, sha256: expectedSha256 }: LiveView): void => {
    keepDraft(memoryId, { text, isChanged: true, base, expectedSha256 })
    setOpen(false)
  }
  const save = (): void => {
    void run(async () => {
      const { text: content, base, expectedSha256 } = drafts.peek().get(memoryId) ?? draft
      try {
        await ask('memory.update', { memoryId, content, expectedSha256, ...reasonIn(reason) })
      } catch (error) {
        if (!(error instanceof AskFailure) || error.code !== 'precondition_failed') throw error
        const next = await ask('memory.merge', { memoryId, base, content })
        setMerged(next)
        if (overlapsIn(next) === 0) take(textOf(next), next.theirs)
        else setOpen(true)
        return
      }
      notice.value = 'Saved'
      done()
    })
  }
  const choose = (text: string): void => {
    if (merged !== undefined) take(text, merged.theirs)
  }
  return { merged, isOpen, choose, save, action }
}

export function EditForm(props: EditFormProps): JSX.Element {
  const { now, draft, onDone } = props
  const { memoryId, path } = now
  const [reason, setReason] = useState('')
  const done = (): void => {
    keepDraft(memoryId, undefined)
    onDone()
  }
  const { merged, isOpen, choose, save, action } = useEdit(props, reason, done)
  if (merged !== undefined && isOpen) {
    return <Overlaps path={path} merged={merged} onChosen={choose} onDiscard={done} />
  }
  return (
    <section class="edit" aria-label={`Edit ${path}`}>
      <Meanwhile now={now} merged={merged} draft={draft} />
      <Editor
        label={`Text of ${path}`}
        text={drafts.peek().get(memoryId)?.text ?? draft.text}
        theirs={merged?.theirs.content}
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
        <button type="submit" class="pri" aria-disabled={action.isRunning}>
          Save
        </button>
        {action.failure !== undefined && <Failure failure={action.failure} />}
      </form>
    </section>
  )
}

interface MeanwhileProps {
  readonly now: LiveView
  readonly merged: MergedEdit | undefined
  readonly draft: Draft
}

/** What others have done since the edit began, in one sentence. */
function Meanwhile({ now, merged, draft }: MeanwhileProps): JSX.Element | null {
  if (now.sha256 !== draft.expectedSha256) {
    return (
      <p class="banner" role="status">
        <Writer version={now.version} /> has changed this memory since you began. Save merges your
        text with it, and shows you the result first.
      </p>
    )
  }
  if (merged === undefined) return null
  const how = overlapsIn(merged) === 0 ? 'Nothing overlaps.' : 'It has what you chose.'
  return (
    <p class="banner" role="status">
      Merged with the change by <Writer version={merged.theirs.version} />. {how} At the left is
      what is there now, at the right your merged text. Nothing is saved yet.
    </p>
  )
}

function textOf({ parts }: MergedEdit): string {
  return parts.map((part) => ('text' in part ? part.text : '')).join('')
}

// Moves or deletes a memory, after a question.

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { ask } from '../../core/ask.ts'
import { notice } from '../../core/state.ts'
import { useAction } from '../../core/use-action.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Failure } from '../../parts/failure.tsx'
import { Field } from '../../parts/field.tsx'
import { reasonIn } from './reason.ts'

interface MemoryDialogProps {
  readonly memoryId: string
  readonly path: string
  /** Of the text that is shown: another one is neither moved nor deleted. */
  readonly sha256: string
  readonly onClose: () => void
}

export function MoveDialog({ memoryId, path, sha256, onClose }: MemoryDialogProps): JSX.Element {
  const [to, setTo] = useState(path)
  return (
    <Question
      title={`Move ${path}`}
      verb="Move"
      onClose={onClose}
      onRun={async (reason) => {
        await ask('memory.update', { memoryId, path: to, expectedSha256: sha256, ...reason })
        notice.value = 'Moved'
      }}
    >
      <p>
        <Field label="To the path" value={to} onValue={setTo} isRequired autoFocus />
      </p>
    </Question>
  )
}

export function DeleteDialog({ memoryId, path, sha256, onClose }: MemoryDialogProps): JSX.Element {
  return (
    <Question
      title={`Delete ${path}?`}
      verb="Delete"
      onClose={onClose}
      onRun={async (reason) => {
        await ask('memory.delete', { memoryId, expectedSha256: sha256, ...reason })
        notice.value = 'Deleted'
      }}
    >
      <p>Its history stays, and it can be restored.</p>
    </Question>
  )
}

interface QuestionProps {
  readonly title: string
  readonly verb: string
  readonly onClose: () => void
  readonly onRun: (reason: { readonly reason?: string }) => Promise<void>
  readonly children: JSX.Element
}

function Question({ title, verb, onClose, onRun, children }: QuestionProps): JSX.Element {
  const [reason, setReason] = useState('')
  const { run, isRunning, failure } = useAction<boolean>()
  const carryOut = async (): Promise<void> => {
    const isDone = await run(async () => {
      await onRun(reasonIn(reason))
      return true
    })
    if (isDone === true) onClose()
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void carryOut()
        }}
      >
        {children}
        <p>
          <Field label="Reason (optional)" value={reason} onValue={setReason} />
        </p>
        {failure !== undefined && <Failure failure={failure} />}
        <p class="go">
          <button type="submit" class="pri" aria-disabled={isRunning}>
            {verb}
          </button>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </p>
      </form>
    </Dialog>
  )
}

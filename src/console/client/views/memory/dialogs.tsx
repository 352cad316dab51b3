// Moves or deletes a memory, after a question.

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { ask } from '../../core/ask.ts'
import { notice } from '../../core/state.ts'
import { Field } from '../../parts/field.tsx'
import { Question } from '../../parts/question.tsx'
import { reasonIn } from './reason.ts'

interface MemoryDialogProps {
  readonly memoryId: string
  readonly path: string
  /** The hash of the shown text: a memory with another text is neither moved nor deleted. */
  readonly sha256: string
  readonly onClose: () => void
}

export function MoveDialog({ memoryId, path, sha256, onClose }: MemoryDialogProps): JSX.Element {
  const [to, setTo] = useState(path)
  return (
    <Reasoned
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
    </Reasoned>
  )
}

export function DeleteDialog({ memoryId, path, sha256, onClose }: MemoryDialogProps): JSX.Element {
  return (
    <Reasoned
      title={`Delete ${path}?`}
      verb="Delete"
      onClose={onClose}
      onRun={async (reason) => {
        await ask('memory.delete', { memoryId, expectedSha256: sha256, ...reason })
        notice.value = 'Deleted'
      }}
    >
      <p>Its history stays, and it can be restored.</p>
    </Reasoned>
  )
}

interface ReasonedProps {
  readonly title: string
  readonly verb: string
  readonly onClose: () => void
  readonly onRun: (reason: { readonly reason?: string }) => Promise<void>
  readonly children: JSX.Element
}

/** A question that ends with the reason. */
function Reasoned({ title, verb, onClose, onRun, children }: ReasonedProps): JSX.Element {
  const [reason, setReason] = useState('')
  return (
    <Question
      title={title}
      verb={verb}
      onClose={onClose}
      onRun={async () => {
        await onRun(reasonIn(reason))
        onClose()
      }}
    >
      {children}
      <p>
        <Field label="Reason (optional)" value={reason} onValue={setReason} />
      </p>
    </Question>
  )
}

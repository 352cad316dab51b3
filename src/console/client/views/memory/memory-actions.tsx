// The actions on a memory: edit, move, delete, restore, redact.

import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { LiveMemoryView, MemoryView } from '../../../../operations/console/contract.ts'
import { addressOf, atNow } from '../../core/address.ts'
import { ask } from '../../core/ask.ts'
import { isPast, mayManage, mayWrite, notice, overview } from '../../core/state.ts'
import { Question } from '../../parts/dialog.tsx'
import { Field } from '../../parts/field.tsx'
import { drafts, keepDraft, reasonIn } from './drafts.ts'

export function MemoryActions({ view }: { readonly view: MemoryView }) {
  if (isPast.value) return <PastActions view={view} />
  return (
    <div class="acts">
      {mayWrite.value && view.state === 'live' && <LiveActions view={view} />}
      {mayWrite.value && view.state === 'deleted' && (
        <a class="button pri" href={addressOf.restore(view.memoryId, {})}>
          Restore…
        </a>
      )}
      {mayManage.value && (
        <a class="button" href={addressOf.redaction({ memory: view.memoryId })}>
          Redact…
        </a>
      )}
    </div>
  )
}

function PastActions({ view }: { readonly view: MemoryView }) {
  const { access, role } = overview.value ?? {}
  const commit = atNow.value
  const mayRestore = access === 'read_write' && (role === 'owner' || role === 'writer')
  if (commit === undefined || !mayRestore || view.state !== 'live') return null
  return (
    <div class="acts">
      <a class="button pri" href={addressOf.restore(view.memoryId, { commit })}>
        Restore this version…
      </a>
    </div>
  )
}

function LiveActions({ view }: { readonly view: LiveMemoryView }) {
  const [dialog, setDialog] = useState<'move' | 'delete'>()
  const { memoryId, path, sha256, content: text } = view
  const isEditing = drafts.value.has(memoryId)
  const about = { memoryId, path, sha256, onClose: () => setDialog(undefined) }
  return (
    <>
      <button type="button" onClick={() => setDialog('move')}>
        Move…
      </button>
      <button type="button" onClick={() => setDialog('delete')}>
        Delete…
      </button>
      {!isEditing && (
        <button
          type="button"
          id="edit"
          class="pri"
          onClick={() =>
            keepDraft(memoryId, { text, isChanged: false, base: text, expectedSha256: sha256 })
          }
        >
          Edit <kbd aria-hidden="true">e</kbd>
        </button>
      )}
      {dialog === 'move' && <MoveDialog {...about} />}
      {dialog === 'delete' && <DeleteDialog {...about} />}
    </>
  )
}

interface MemoryDialogProps {
  readonly memoryId: string
  readonly path: string
  /** The hash of the shown text: a memory with another text is neither moved nor deleted. */
  readonly sha256: string
  readonly onClose: () => void
}

function MoveDialog({ memoryId, path, sha256, onClose }: MemoryDialogProps) {
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

function DeleteDialog({ memoryId, path, sha256, onClose }: MemoryDialogProps) {
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
      <p>Its history is kept, and it can be restored.</p>
    </Reasoned>
  )
}

interface ReasonedProps {
  readonly title: string
  readonly verb: string
  readonly onClose: () => void
  readonly onRun: (reason: { readonly reason?: string }) => Promise<void>
  readonly children: ComponentChildren
}

/** A question that ends with the reason. */
function Reasoned({ title, verb, onClose, onRun, children }: ReasonedProps) {
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

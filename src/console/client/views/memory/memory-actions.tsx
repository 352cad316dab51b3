// What can be done with a memory: edit, move, delete, restore, redact.

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { MemoryView } from '../../../../api/console/contract.ts'
import { addressOf, atNow } from '../../core/address.ts'
import { isPast, mayManage, mayWrite, overview } from '../../core/state.ts'
import { DeleteDialog, MoveDialog } from './dialogs.tsx'
import { drafts, keepDraft } from './drafts.ts'

export function MemoryActions({ view }: { readonly view: MemoryView }): JSX.Element | null {
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

function PastActions({ view }: { readonly view: MemoryView }): JSX.Element | null {
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

type LiveView = Extract<MemoryView, { readonly state: 'live' }>

function LiveActions({ view }: { readonly view: LiveView }): JSX.Element {
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

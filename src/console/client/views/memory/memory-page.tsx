// One memory: its text, its changes, the author of each line, its history at the right, and the
// actions on it.

import type { ComponentChildren } from 'preact'
import { useLocation } from 'preact-iso'
import { useEffect, useState } from 'preact/hooks'
import type { LiveMemoryView, MemoryView } from '../../../../operations/console/contract.ts'
import { addressOf, atNow, type MemoryTab } from '../../core/address.ts'
import { ask } from '../../core/ask.ts'
import { isPast, mayManage, mayWrite, memorySteps, notice, overview } from '../../core/state.ts'
import { type Asked, useAsk } from '../../core/use-ask.ts'
import { Question } from '../../parts/dialog.tsx'
import { Field } from '../../parts/field.tsx'
import { Pending, Writer } from '../../parts/labels.tsx'
import { usePages } from '../../parts/pager.tsx'
import { absoluteTime, relativeTime, sizeText } from '../../parts/times.ts'
import { MergeStrip } from '../merges/merge-strip.tsx'
import { RedactSelection } from '../redaction/redact-selection.tsx'
import { drafts, keepDraft, reasonIn } from './drafts.ts'
import { EditForm } from './edit-form.tsx'
import { HistoryColumn, type MemoryHistory } from './history-column.tsx'
import { BlameTab, ChangesTab, TextTab } from './tabs.tsx'

const tabs: readonly (readonly [MemoryTab, string])[] = [
  ['read', 'Read'],
  ['source', 'Source'],
  ['changes', 'Changes'],
  ['blame', 'Blame'],
]

const VERSIONS_A_PAGE = 50

export function MemoryPage({ memoryId }: { readonly memoryId: string }) {
  const shown = useAsk('memory.show', { memoryId, at: atNow.value }, { keepsLast: true })
  useSteps(memoryId, shown)
  const { data, failure } = shown
  const history = usePages('memory.versions', { memoryId, limit: VERSIONS_A_PAGE })
  // The view of one memory is not kept for another.
  const view = data?.memoryId === memoryId ? data : undefined
  if (failure !== undefined || view === undefined) return <Pending failure={failure} />
  const draft = isPast.value ? undefined : drafts.value.get(memoryId)
  return (
    <div class="memory-page">
      <article class="memory">
        <Heading view={view} />
        {!isPast.value && <MergeStrip memoryId={memoryId} />}
        {view.state === 'live' && draft !== undefined ? (
          <EditForm
            key={memoryId}
            now={view}
            draft={draft}
            onDone={() => document.getElementById('content')?.focus()}
          />
        ) : (
          <Tabs view={view} history={history} />
        )}
      </article>
      <RedactSelection within="#tab-panel" />
      <HistoryColumn view={view} history={history} />
    </div>
  )
}

/** Tells the line of time where this memory changed before and after the moment shown. */
function useSteps(memoryId: string, { data, isAsking }: Asked<MemoryView>): void {
  const at = atNow.value
  const { before, after } = data?.steps ?? {}
  useEffect(() => {
    // While it asks, the page still shows another moment.
    if (!isAsking) memorySteps.value = { memoryId, at, before, after }
  }, [memoryId, at, isAsking, before, after])
  useEffect(
    () => () => {
      memorySteps.value = undefined
    },
    [],
  )
}

function Heading({ view }: { readonly view: MemoryView }) {
  const { path = view.memoryId } = view
  const folder = path.slice(0, path.lastIndexOf('/') + 1)
  return (
    <>
      <div class="crumbs">
        <h1>
          <span class="dim">{folder}</span>
          {path.slice(folder.length)}
        </h1>
        <MemoryActions view={view} />
      </div>
      <p class="meta">
        {view.version === undefined ? (
          'It did not exist yet.'
        ) : (
          <>
            {states[view.state]}{' '}
            <time title={absoluteTime(view.version.createdAt)}>
              {isPast.value
                ? absoluteTime(view.version.createdAt)
                : relativeTime(view.version.createdAt)}
            </time>{' '}
            by <Writer version={view.version} />
            {view.version.reason !== undefined && (
              <>
                {' '}
                — <q>{view.version.reason}</q>
              </>
            )}
            {view.version.sizeBytes !== undefined && ` · ${sizeText(view.version.sizeBytes)}`} ·
            version {view.number}
          </>
        )}
      </p>
    </>
  )
}

const states: Readonly<Record<MemoryView['state'], string>> = {
  live: 'Changed',
  deleted: 'Deleted',
  redacted: 'Redacted; written',
  displaced: 'Another memory was at its path; written',
  absent: '',
}

interface TabsProps {
  readonly view: MemoryView
  readonly history: MemoryHistory
}

function Tabs({ view, history }: TabsProps) {
  const { query, route } = useLocation()
  const { memoryId } = view
  const { from, to } = query
  const tab = tabs.find(([name]) => name === query['tab'])?.[0] ?? 'read'
  const place = { from, to }
  return (
    <>
      <div class="tabs" role="tablist" aria-label="How to show it">
        {tabs.map(([name, label]) => (
          <button
            key={name}
            type="button"
            role="tab"
            id={`tab-${name}`}
            aria-selected={name === tab}
            aria-controls="tab-panel"
            tabIndex={name === tab ? 0 : -1}
            onClick={() => route(addressOf.memory(memoryId, { ...place, tab: name }))}
            onKeyDown={(event) => {
              const next = neighbour(name, event.key)
              if (next === undefined) return
              event.preventDefault()
              route(addressOf.memory(memoryId, { ...place, tab: next }))
              document.getElementById(`tab-${next}`)?.focus()
            }}
          >
            {label}
          </button>
        ))}
      </div>
      <div id="tab-panel" role="tabpanel" aria-labelledby={`tab-${tab}`}>
        {tab === 'changes' && (
          <ChangesTab view={view} from={from} to={to} versions={history.data?.data ?? []} />
        )}
        {tab === 'blame' && <BlameTab memoryId={memoryId} />}
        {(tab === 'read' || tab === 'source') && (
          <TextTab view={view} versionId={to} isSource={tab === 'source'} />
        )}
      </div>
    </>
  )
}

function neighbour(name: MemoryTab, key: string): MemoryTab | undefined {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[key]
  if (step === undefined) return undefined
  const index = tabs.findIndex(([one]) => one === name)
  return tabs.at((index + step) % tabs.length)?.[0]
}

function MemoryActions({ view }: { readonly view: MemoryView }) {
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
        <a class="button risk" href={addressOf.redaction({ memory: view.memoryId })}>
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
      <button type="button" onClick={() => setDialog('move')}>
        Move…
      </button>
      <button type="button" class="risk" onClick={() => setDialog('delete')}>
        Delete…
      </button>
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
      isRisk
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
  readonly isRisk?: boolean
  readonly onClose: () => void
  readonly onRun: (reason: { readonly reason?: string }) => Promise<void>
  readonly children: ComponentChildren
}

/** A question that ends with the reason. */
function Reasoned({ title, verb, isRisk = false, onClose, onRun, children }: ReasonedProps) {
  const [reason, setReason] = useState('')
  return (
    <Question
      title={title}
      verb={verb}
      isRisk={isRisk}
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

// One memory: its text, its changes, the author of each line, and its history at the right.

import { useLocation } from 'preact-iso'
import type { MemoryView } from '../../../../operations/console/contract.ts'
import { addressOf, atNow, type MemoryTab } from '../../core/address.ts'
import { isPast } from '../../core/state.ts'
import { useAsk } from '../../core/use-ask.ts'
import { Pending, Writer } from '../../parts/labels.tsx'
import { absoluteTime, relativeTime, sizeText } from '../../parts/times.ts'
import { drafts } from './drafts.ts'
import { EditForm } from './edit-form.tsx'
import { HistoryColumn } from './history-column.tsx'
import { MemoryActions } from './memory-actions.tsx'
import { BlameTab, ChangesTab, TextTab } from './tabs.tsx'

const tabs: readonly (readonly [MemoryTab, string])[] = [
  ['read', 'Read'],
  ['source', 'Source'],
  ['changes', 'Changes'],
  ['blame', 'Blame'],
]

export function MemoryPage({ memoryId }: { readonly memoryId: string }) {
  const asked = { memoryId, at: atNow.value }
  const { data, failure } = useAsk('memory.show', asked, { keepsLast: true })
  // The view of one memory is not kept for another.
  const view = data?.memoryId === memoryId ? data : undefined
  if (failure !== undefined || view === undefined) return <Pending failure={failure} />
  const draft = isPast.value ? undefined : drafts.value.get(memoryId)
  return (
    <div class="memory-page">
      <article class="memory">
        <Heading view={view} />
        {view.state === 'live' && draft !== undefined ? (
          <EditForm
            key={memoryId}
            now={view}
            draft={draft}
            onDone={() => document.getElementById('content')?.focus()}
          />
        ) : (
          <Tabs view={view} />
        )}
      </article>
      <HistoryColumn memoryId={memoryId} />
    </div>
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

function Tabs({ view }: { readonly view: MemoryView }) {
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
        {tab === 'changes' && <ChangesTab view={view} from={from} to={to} />}
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

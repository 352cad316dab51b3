// The views: the rail that lists them, their keys, and the page that an address shows.

import { signal } from '@preact/signals'
import type { ComponentType, FunctionComponent } from 'preact'
import { Route, Router, useLocation } from 'preact-iso'
import { useEffect, useState } from 'preact/hooks'
import { addressOf, type ViewName } from '../core/address.ts'
import { overview, pending } from '../core/state.ts'
import { useAsk } from '../core/use-ask.ts'
import { Icon, type IconName } from '../parts/icons.tsx'
import { MemoriesPage, SearchPage } from '../views/memories/memories-page.tsx'
import { NewMemoryPage } from '../views/memory/edit-form.tsx'
import { MemoryPage } from '../views/memory/memory-page.tsx'
import { MergesPage } from '../views/merges/merges-page.tsx'
import { ComparePage } from '../views/reverts/compare-page.tsx'
import {
  RestorePage,
  RollbackPage,
  UndoChangePage,
  UndoPage,
} from '../views/reverts/revert-pages.tsx'
import { ReviewPage } from '../views/review/review-page.tsx'
import { SessionsPage } from '../views/sessions/sessions-page.tsx'
import { TimelinePage } from '../views/timeline/timeline-page.tsx'
import type { CarePages } from './care-pages.tsx'

interface ViewEntry {
  readonly name: ViewName
  /** Opens it after `g`. */
  readonly key: string
  readonly icon: IconName
  readonly label: string
  /** The first words of other addresses that belong to it. */
  readonly also?: readonly string[]
}

const ofMemories = ['memory', 'new', 'search', 'restore']

/** Whether the tree of memories stands next to the view at an address. */
export function hasTree(path: string): boolean {
  const [, first = ''] = path.split('/')
  return first === 'memories' || ofMemories.includes(first)
}

export const views: readonly ViewEntry[] = [
  { name: 'review', key: 'v', icon: 'review', label: 'Review', also: ['', 'merges'] },
  { name: 'memories', key: 'm', icon: 'memories', label: 'Memories', also: ofMemories },
  {
    name: 'timeline',
    key: 't',
    icon: 'timeline',
    label: 'Timeline',
    also: ['compare', 'rollback'],
  },
  { name: 'sessions', key: 's', icon: 'sessions', label: 'Sessions' },
  { name: 'redaction', key: 'r', icon: 'redaction', label: 'Redaction' },
  { name: 'devices', key: 'd', icon: 'devices', label: 'Devices' },
  { name: 'sync', key: 'y', icon: 'sync', label: 'Sync' },
  { name: 'audit', key: 'a', icon: 'audit', label: 'Audit' },
  { name: 'settings', key: 'o', icon: 'settings', label: 'Settings' },
]

/** All that the trail can answer. */
const ofAuditors: ReadonlySet<ViewName> = new Set(['devices', 'audit'])

/** The views that this user may open. */
export function visibleViews(): readonly ViewEntry[] {
  const isAuditor = overview.value?.audience === 'auditor'
  return views.filter(({ name }) => !isAuditor || ofAuditors.has(name))
}

export function Rail() {
  const { path } = useLocation()
  const [, first = ''] = path.split('/')
  const known = overview.value
  const isAuditor = known?.audience === 'auditor'
  const { data } = useAsk('review.pending', isAuditor || known === undefined ? undefined : {})
  if (data !== undefined && pending.peek() !== data) pending.value = data
  const waiting = (data?.writers ?? 0) + (data?.merges.length ?? 0)
  return (
    <nav class="rail" aria-label="Views">
      {visibleViews().map(({ name, icon, label, also = [] }) => {
        const isHome = isAuditor && first === '' && name === 'audit'
        const isHere = isHome || first === name || also.includes(first)
        return (
          <a key={name} href={addressOf.view(name)} aria-current={isHere ? 'page' : undefined}>
            <Icon name={icon} />
            <span>{label}</span>
            {name === 'review' && waiting > 0 && (
              <b class="n" role="img" aria-label={`${waiting} to review`}>
                {waiting > 99 ? '99+' : waiting}
              </b>
            )}
          </a>
        )
      })}
    </nav>
  )
}

interface PageIds {
  readonly versionId: string
  readonly memoryId: string
  readonly commit: string
  readonly redaction: string
}

// One component each, whatever is drawn: a new one would begin the view anew.
const UndoSession = ({ versionId }: PageIds) => <UndoPage versionId={versionId} by="session" />
const UndoActor = ({ versionId }: PageIds) => <UndoPage versionId={versionId} by="actor" />

const carePages = signal<CarePages | undefined>(undefined)

/** A page that is loaded when it is opened. */
function carePage(name: keyof CarePages): FunctionComponent<Partial<PageIds>> {
  return (ids) => {
    const [isLost, setLost] = useState(false)
    const Page = carePages.value?.[name]
    useEffect(() => {
      if (carePages.peek() !== undefined) return
      import('./care-pages.tsx')
        .then((loaded) => (carePages.value = loaded.carePages))
        .catch(() => setLost(true))
    }, [])
    if (Page !== undefined) return <Page {...ids} />
    return isLost ? (
      <p role="alert">This page could not be loaded: reload it.</p>
    ) : (
      <p role="status">Reading…</p>
    )
  }
}

const AuditPage = carePage('audit')

/** An auditor sees the trail and nothing else. */
const HomePage = () => (overview.value?.audience === 'auditor' ? <AuditPage /> : <ReviewPage />)

const pages: Readonly<Record<string, ComponentType<PageIds>>> = {
  '/': HomePage,
  '/review/:versionId?': ReviewPage,
  '/memories': MemoriesPage,
  '/search': SearchPage,
  '/memory/:memoryId': MemoryPage,
  '/new': NewMemoryPage,
  '/timeline/:versionId?': TimelinePage,
  '/sessions': SessionsPage,
  '/sessions/session/:versionId': UndoSession,
  '/sessions/actor/:versionId': UndoActor,
  '/sessions/change/:versionId': UndoChangePage,
  '/merges/:versionId?': MergesPage,
  '/rollback/:commit': RollbackPage,
  '/restore/:memoryId': RestorePage,
  '/compare/:commit': ComparePage,
  '/redaction/:redaction?': carePage('redaction'),
  '/devices': carePage('devices'),
  '/sync': carePage('sync'),
  '/audit': AuditPage,
  '/settings': carePage('settings'),
}

export function Routes() {
  return (
    <Router>
      {Object.entries(pages).map(([path, page]) => (
        <Route key={path} path={path} component={page} />
      ))}
      <Route default component={NoSuchPage} />
    </Router>
  )
}

function NoSuchPage() {
  return (
    <>
      <h1>There is nothing here</h1>
      <p>The address may be of another store, or of an earlier version of the console.</p>
      <p>
        <a class="button" href="/">
          Start page
        </a>
      </p>
    </>
  )
}

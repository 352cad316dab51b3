// Which view an address shows.

import type { ComponentType, JSX } from 'preact'
import { Route, Router } from 'preact-iso'
import { AuditPage } from '../views/audit/audit-page.tsx'
import { DevicesPage } from '../views/devices/devices-page.tsx'
import { MemoriesPage } from '../views/memories/memories-page.tsx'
import { SearchPage } from '../views/memories/search-page.tsx'
import { MemoryPage } from '../views/memory/memory-page.tsx'
import { NewMemoryPage } from '../views/memory/new-memory-page.tsx'
import { MergesPage } from '../views/merges/merges-page.tsx'
import { RedactionPage } from '../views/redaction/redaction-page.tsx'
import { ComparePage } from '../views/reverts/compare-page.tsx'
import { RestorePage } from '../views/reverts/restore-page.tsx'
import { RollbackPage } from '../views/reverts/rollback-page.tsx'
import { UndoPage } from '../views/reverts/undo-page.tsx'
import { SessionsPage } from '../views/sessions/sessions-page.tsx'
import { SettingsPage } from '../views/settings/settings-page.tsx'
import { SyncPage } from '../views/sync/sync-page.tsx'
import { TimelinePage } from '../views/timeline/timeline-page.tsx'

interface Ids {
  readonly versionId: string
  readonly memoryId: string
  readonly commit: string
}

// One component each, whatever is drawn: a new one would begin the view anew.
const UndoSession = ({ versionId }: Ids) => <UndoPage versionId={versionId} by="session" />
const UndoActor = ({ versionId }: Ids) => <UndoPage versionId={versionId} by="actor" />

const views: Readonly<Record<string, ComponentType<Ids>>> = {
  '/': MemoriesPage,
  '/memories': MemoriesPage,
  '/search': SearchPage,
  '/memory/:memoryId': MemoryPage,
  '/new': NewMemoryPage,
  '/timeline/:versionId?': TimelinePage,
  '/sessions': SessionsPage,
  '/sessions/session/:versionId': UndoSession,
  '/sessions/actor/:versionId': UndoActor,
  '/merges/:versionId?': MergesPage,
  '/rollback/:commit': RollbackPage,
  '/restore/:memoryId': RestorePage,
  '/compare/:commit': ComparePage,
  '/redaction': RedactionPage,
  '/devices': DevicesPage,
  '/sync': SyncPage,
  '/audit': AuditPage,
  '/settings': SettingsPage,
}

export function Routes(): JSX.Element {
  return (
    <Router>
      {Object.entries(views).map(([path, view]) => (
        <Route key={path} path={path} component={view} />
      ))}
      <Route default component={NoSuchPage} />
    </Router>
  )
}

function NoSuchPage(): JSX.Element {
  return (
    <>
      <h1>There is nothing here</h1>
      <p>The address may be of another store, or of an earlier version of the console.</p>
    </>
  )
}

// The pages that keep a store in order, loaded when the first of them is opened: their code is
// needed neither to read memories nor to review changes.

import type { ComponentType } from 'preact'
import { AuditPage } from '../views/audit/audit-page.tsx'
import { DevicesPage } from '../views/devices/devices-page.tsx'
import { RedactionPage } from '../views/redaction/redaction-page.tsx'
import { SettingsPage } from '../views/settings/settings-page.tsx'
import { SyncPage } from '../views/sync/sync-page.tsx'

/** Pages by the first word of their address. */
export const carePages = {
  audit: AuditPage,
  devices: DevicesPage,
  redaction: RedactionPage,
  settings: SettingsPage,
  sync: SyncPage,
} satisfies Readonly<Record<string, ComponentType<{ readonly redaction?: string | undefined }>>>

export type CarePages = typeof carePages

// The rows of the trail in words, and all of them at once, for paper.

import type { AuditState, TrailInput, TrailRow } from '../../../../operations/console/contract.ts'
import { ask, type AskOptions } from '../../core/ask.ts'
import { absoluteTime, countOf } from '../../parts/times.ts'

export type TrailRows = readonly TrailRow[]

export const kinds = [
  ['change', 'changes of memories'],
  ['redact', 'redactions'],
  ['keyring', 'devices and keys'],
  ['grants', 'grants'],
  ['settings', 'settings'],
  ['genesis', 'the beginning'],
] as const

const ROWS_A_PAGE = 1000

export async function rowsOf(filter: TrailInput, options: AskOptions): Promise<TrailRows> {
  const rows: TrailRow[] = []
  let after: string | undefined
  do {
    const asked = { ...filter, limit: ROWS_A_PAGE, ...(after !== undefined && { after }) }
    const page = await ask('audit.trail', asked, options)
    rows.push(...page.data)
    options.onProgress?.(rows.length, page.total)
    after = page.nextPage
  } while (after !== undefined)
  return rows
}

export function whoText({ actor, session }: TrailRow): string {
  if (actor === undefined) return session ?? 'not recorded'
  if (session === undefined || session === actor.id) return actor.id
  return `${session}, for ${actor.id}`
}

export function whereText({ deviceName, deviceId, isRecovery, isGrant }: TrailRow): string {
  const name = nameOf(deviceName, deviceId)
  if (isRecovery) return `${name} (passphrase or recovery key)`
  return isGrant ? `${name} (grant)` : name
}

export function whatText(row: TrailRow): string {
  const { kind, redacts, redactReason, actions, isMerge } = row
  if (kind === 'genesis') return ['created the store', ...actions.map(actionText)].join('; ')
  if (kind === 'settings') return 'changed settings'
  if (kind === 'redact') {
    return `redacted ${countOf(redacts, 'version')}, ${redactReason?.replaceAll('_', ' ') ?? ''}`
  }
  if (actions.length > 0) return actions.map(actionText).join('; ')
  const counts = (['created', 'modified', 'deleted'] as const)
    .filter((operation) => row[operation] > 0)
    .map((operation) => `${operation} ${countOf(row[operation], 'memory')}`)
  const text = counts.join(', ')
  if (!isMerge) return text
  return text === '' ? 'merged two histories' : `merged two histories: ${text}`
}

/** Its first digits tell a device without a name from others. */
function nameOf(name: string, deviceId: string): string {
  return name === '' ? `${deviceId.slice(0, 12)}…` : name
}

const ACTIONS: Readonly<Record<TrailRow['actions'][number]['type'], string>> = {
  device_added: 'added the device',
  device_renamed: 'renamed a device to',
  role_changed: 'changed the role of',
  device_removed: 'removed the device',
  grant_begun: 'gave the grant',
  grant_ended: 'ended the grant',
  passphrase_set: 'set a passphrase',
  passphrase_removed: 'removed a passphrase',
  recovery_key_set: 'set a recovery key',
  recovery_key_removed: 'removed a recovery key',
  grants_left_to_owners: 'left the giving of grants to owners alone',
  grants_opened_to_writers: 'let writers give grants',
  epoch_began: 'replaced the keys',
}

function actionText({ type, subject, role }: TrailRow['actions'][number]): string {
  const words = [ACTIONS[type], ...(subject === undefined ? [] : [subject])].join(' ')
  return role === undefined || type === 'grant_ended' ? words : `${words} as ${role}`
}

/** The device that must confirm, and when it last wrote. */
export function waitingText(device: AuditState['unconfirmed'][number]['devices'][number]): string {
  const { name, deviceId, role, lastRecord, canAcknowledge } = device
  const who = `${nameOf(name, deviceId)}, ${role}`
  if (!canAcknowledge) return `${who}: may not write, so it cannot confirm`
  return lastRecord === undefined
    ? `${who}: has written nothing`
    : `${who}: last wrote ${absoluteTime(lastRecord)}`
}

// The tables of a report's page: devices, changes of access, and writes with their plot. Pure.

import type { AccessEvent, ReportedDevice } from '../../store/report/access-events.ts'
import type { AuditReport, WriteCount } from '../../store/report/audit-report.ts'
import { numberText } from '../text/sizes.ts'
import { code, device, html, type Html, named, table, time, type Value } from './html.ts'
import { type Bin, binWrites, plot, totalOf } from './plot.ts'
import { actionText, actorText, holderText } from './wording.ts'

const none = html`<span class="none">none</span>`

export function deviceTable({ devices }: AuditReport): Html {
  return table({
    caption: 'Devices, removed ones too, in the order in which they came',
    heads: ['Device', 'Name', 'Role', 'Added', 'Removed', 'Newest record'],
    rows: devices.map(deviceRow),
  })
}

function deviceRow(reported: ReportedDevice): readonly Value[] {
  const { deviceId, name, role, added, removed, lastRecord } = reported
  return [
    code(deviceId),
    name === '' ? none : named(name),
    removed === undefined ? role : `was ${role}`,
    time(added.time),
    removed === undefined ? 'no' : time(removed.time),
    lastRecord === undefined ? none : time(lastRecord),
  ]
}

export function accessTable({ access, devices }: AuditReport): Html {
  if (access.length === 0) return nothing('No access has changed in this period.')
  return table({
    caption: 'Changes of devices, passphrases and keys, oldest first',
    heads: ['Time', 'What', 'Of', 'By the device', 'Actor'],
    rows: access.map((event) => accessRow(event, devices)),
  })
}

function accessRow(event: AccessEvent, devices: readonly ReportedDevice[]): readonly Value[] {
  const { action, deviceId } = event
  const by = html`${device(deviceId, devices)}${holderText(event, (id) => id)}`
  return [
    time(event.time),
    actionText(action),
    subjectOf(event, devices),
    by,
    actorText(event.actor),
  ]
}

function subjectOf({ action }: AccessEvent, devices: readonly ReportedDevice[]): Value {
  if ('grantId' in action) {
    return html`${code(action.grantId)} as ${action.role} until ${time(action.expiresAt)}`
  }
  if (!('deviceId' in action)) return ''
  const role = 'role' in action ? html` as ${action.role}` : ''
  // Its name then, not its name now.
  if (!('name' in action)) return html`${device(action.deviceId, devices)}${role}`
  const name = action.name === '' ? '' : html` named ${named(action.name)}`
  return html`${code(action.deviceId)}${role}${name}`
}

export function writeTables({ writes }: AuditReport): readonly Html[] {
  if (writes.length === 0) return [nothing('Nothing was written in this period.')]
  const found = binWrites(writes)
  const { unit, bins } = found
  const figure = html`<figure>
    ${plot(found)}
    <figcaption>Versions per ${unit}, in UTC, by the clocks of the devices</figcaption>
  </figure>`
  const numbers = table({
    caption: `Versions per ${unit}: the numbers of the plot`,
    heads: [unitNames[unit], 'All', 'Created', 'Modified', 'Deleted'],
    rows: bins.filter((bin) => totalOf(bin) > 0).map(binRow),
    isDense: true,
  })
  const all = table({
    caption: 'Versions by day, actor and session',
    heads: ['Day', 'Actor', 'Session', 'Created', 'Modified', 'Deleted', 'Redacted by now'],
    rows: writes.map(writeRow),
    isDense: true,
  })
  return [figure, numbers, all]
}

const unitNames = { day: 'Day', month: 'Month', year: 'Year' } as const

function binRow(bin: Bin): readonly Value[] {
  const { label, created, modified, deleted } = bin
  return [label, ...[totalOf(bin), created, modified, deleted].map(numberText)]
}

function writeRow({ day, actor, session = '', ...counts }: WriteCount): readonly Value[] {
  const { created, modified, deleted, redacted } = counts
  const numbers = [created, modified, deleted, redacted].map(numberText)
  return [day, actorText(actor), session, ...numbers]
}

function nothing(sentence: string): Html {
  return html`<p class="none">${sentence}</p>`
}

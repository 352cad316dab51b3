// The redactions of a report's page, each with its proof and with who has not confirmed it. Pure.

import type { PendingDevice } from '../../store/redaction/acknowledgement.ts'
import type { ReportedDevice } from '../../store/report/access-events.ts'
import type { AuditReport, ReportedRedaction } from '../../store/report/audit-report.ts'
import { countText, numberText } from '../text/sizes.ts'
import { code, device, facts, html, type Html, named, time, type Value } from './html.ts'
import { absenceText, actorText } from './wording.ts'

/** More ids of versions are counted: JSON has them all. */
const IDS_MAX = 12

export function redactionCards({ absence, devices, redactions }: AuditReport): readonly Html[] {
  if (redactions.length === 0) {
    return [html`<p class="none">Nothing was redacted in this period.</p>`]
  }
  return [
    ...(absence === undefined ? [] : [searched(absence)]),
    ...redactions.map((one) => card(one, devices)),
  ]
}

function searched(absence: NonNullable<AuditReport['absence']>): Html {
  const objects = countText(absence.objects, 'object', 'objects')
  const cached = countText(absence.cached, 'version', 'versions')
  const redacted = countText(absence.versions, 'redacted version', 'redacted versions')
  const damaged = countText(absence.putAside, 'damaged file', 'damaged files')
  const aside = ` Not searched: ${damaged} that a repair has put aside.`
  const texts = countText(absence.textsOutside, 'text', 'texts')
  const outside = ` An editor has open, or left when it was killed: ${texts} of the store.`
  return html`<p>
    Searched in this copy of the store: ${objects} and ${cached} in caches, for
    ${redacted}.${absence.putAside === 0 ? '' : aside}${absence.textsOutside === 0 ? '' : outside}
  </p>`
}

function card(redaction: ReportedRedaction, devices: readonly ReportedDevice[]): Html {
  const { reason = 'unspecified', versionIds, commit, record, actor, session } = redaction
  return html`<article class="card">
    <h3>
      ${countText(versionIds.length, 'version', 'versions')} redacted on ${time(redaction.time)}:
      ${reason}
    </h3>
    ${facts([
      ['By the device', device(redaction.deviceId, devices)],
      ['Actor', actorText(actor)],
      ['Session', session ?? 'not recorded'],
      ['Record', code(record)],
      ['Commit', code(commit)],
      ['Versions', idList(versionIds)],
      ['Certificate', certificate(redaction, devices)],
      ['Proof of absence', badge(redaction)],
      ['Not confirmed by', unconfirmed(redaction, devices)],
    ])}
  </article>`
}

function idList(versionIds: readonly string[]): Html {
  const shown = versionIds.slice(0, IDS_MAX).map((id) => html`<li>${code(id)}</li>`)
  const more = versionIds.length - shown.length
  const rest = html`<li>and ${numberText(more)} more, which the report as JSON names</li>`
  return html`<ul class="ids">
    ${more > 0 ? [...shown, rest] : shown}
  </ul>`
}

function certificate(
  { certificate: given }: ReportedRedaction,
  devices: readonly ReportedDevice[],
): Value {
  if (given === undefined) return 'none was given'
  return html`Verified, signed by ${device(given.device_id, devices)}`
}

function badge({ absence }: ReportedRedaction): Html {
  const kind = absence === 'nothing_found' ? 'good' : absence === 'found' ? 'bad' : 'warn'
  return html`<span class="badge ${kind}">${absenceText(absence)}</span>`
}

function unconfirmed(
  { unconfirmedDevices, unconfirmedRemotes }: ReportedRedaction,
  devices: readonly ReportedDevice[],
): Value {
  const remotes = unconfirmedRemotes.map((name) => {
    return html`<li>the remote ${named(name)}: not known to have it</li>`
  })
  const all = [...unconfirmedDevices.map((one) => pendingDevice(one, devices)), ...remotes]
  if (all.length === 0) return 'no one: every other active device has confirmed it'
  return html`<ul>
    ${all}
  </ul>`
}

function pendingDevice(pending: PendingDevice, devices: readonly ReportedDevice[]): Html {
  const { deviceId, role } = pending
  return html`<li>${device(deviceId, devices)}, ${role}: ${unconfirmedText(pending)}</li>`
}

/** Why it is among those that have not confirmed a redaction. */
function unconfirmedText({ canAcknowledge, lastRecord }: PendingDevice): Value {
  if (!canAcknowledge) return 'may not write, so that it cannot be known'
  return lastRecord === undefined ? 'has written nothing' : html`last wrote ${time(lastRecord)}`
}

// A report as one HTML page: no script, no other file, no network. For people, screen readers and
// paper. A template escapes every value that is not markup itself. Pure.

import { timestamp } from '../../operations/wire.ts'
import type { PendingDevice } from '../../store/redaction/acknowledgement.ts'
import type { RedactionCertificate } from '../../store/redaction/certificate.ts'
import type { AccessEvent, ReportedDevice } from '../../store/report/access-events.ts'
import type { AuditReport, ReportedRedaction } from '../../store/report/audit-report.ts'
import { visible } from '../../text/visible.ts'
import { countText, numberText } from '../text/words.ts'
import { absenceText, actionText, actorText, holderText, limitsOf } from './wording.ts'

/** Only the tag `markup` makes it, and `STYLE`, which is constant. */
interface Markup {
  readonly text: string
}

type Value = Markup | readonly Markup[] | string | number

/** More ids of versions are counted: JSON has them all. */
const IDS_MAX = 12

/** `createdAt` is when the report was made. The text ends in a newline. */
export function reportPage(report: AuditReport, createdAt: number): string {
  const name = report.name ?? report.storeId
  const sections: readonly (readonly [id: string, title: string, content: Value])[] = [
    ['verification', 'Verification', verification(report)],
    ['redactions', 'Redactions', redactions(report)],
    ['devices', 'Devices', deviceTable(report)],
    ['access', 'Changes of access', accessTable(report)],
    ['limits', 'What this report cannot prove', list(limitsOf(report))],
    ['writes', 'Writes', writeTable(report)],
  ]
  // The first store id in the file is its subject (FORMAT §10.3): it must precede the name.
  const page = markup`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="store" content="${report.storeId}" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta http-equiv="Content-Security-Policy"
          content="default-src 'none'; style-src 'unsafe-inline'" />
        <title>Report on the store ${name}</title>
        ${STYLE}
      </head>
      <body>
        <header>
          <h1>Report on the store ${named(name)}</h1>
          ${facts(headFacts(report, createdAt))}
          <nav aria-label="Sections">
            ${list(sections.map(([id, title]) => markup`<a href="#${id}">${title}</a>`))}
          </nav>
        </header>
        <main>${sections.map(section)}</main>
        <footer>
          Whether this file is unchanged, and who made it: ${code('gitlocket report verify')}, with
          the signature next to the file.
        </footer>
      </body>
    </html>`
  return `${page.text}\n`
}

function section([id, title, content]: readonly [
  id: string,
  title: string,
  content: Value,
]): Markup {
  return markup`<section aria-labelledby="${id}">
    <h2 id="${id}">${title}</h2>${content}
  </section>`
}

function headFacts(report: AuditReport, createdAt: number): Facts {
  const { storeId, deviceId, devices, role, since, until } = report
  const from = since === undefined ? 'the first commit' : time(since)
  const period = markup`${from} to ${until === undefined ? 'now' : time(until)}`
  return [
    ['Store', code(storeId)],
    ['Made', time(createdAt)],
    ['By the device', markup`${device(deviceId, devices)}, ${role ?? 'removed'}`],
    ['Period', since === undefined && until === undefined ? 'the whole history' : period],
  ]
}

const WHOLE = 'Every commit, signature, change of keys and content, from the first commit on.'
const TRAIL =
  'Every record, signature, change of keys and file name, from the first commit on; not what an ' +
  'auditor cannot open: contents, paths, settings.'

function verification({ verification: found, leftOut }: AuditReport): Markup {
  const isWhole = found.extent === 'history'
  const records = countText(leftOut, 'record', 'records')
  const warning = markup`<p>
    ${badge('warn', 'Left out')} ${records} that this device had verified are not in the history any
    more, as its user accepted: ${code('gitlocket audit')} lists them.
  </p>`
  return markup`<div class="card">
      <p>${badge('good', isWhole ? 'Verified' : 'Trail verified')}</p>
      <p>${isWhole ? WHOLE : TRAIL}</p>
      ${facts([
        ['Commits', numberText(found.commits)],
        ['Versions', numberText(found.versions)],
        ['Memories now', numberText(found.memories)],
        ['Head', code(found.head)],
        ['Its twelve words', markup`<ol class="words">${items(found.headFingerprint)}</ol>`],
      ])}
    </div>
    ${leftOut === 0 ? '' : warning}`
}

function redactions({ absence, devices, redactions: all }: AuditReport): Value {
  if (all.length === 0) return nothing('Nothing was redacted in this period.')
  const cards = all.map((redaction) => card(redaction, devices))
  return absence === undefined ? cards : [searched(absence), ...cards]
}

function searched(absence: NonNullable<AuditReport['absence']>): Markup {
  const objects = countText(absence.objects, 'object', 'objects')
  const cached = countText(absence.cached, 'version', 'versions')
  const redacted = countText(absence.versions, 'redacted version', 'redacted versions')
  const damaged = countText(absence.putAside, 'damaged file', 'damaged files')
  const aside = ` Not searched: ${damaged} that a repair has put aside.`
  const texts = countText(absence.textsOutside, 'text', 'texts')
  const outside = ` An editor has open, or left when it was killed: ${texts} of the store.`
  return markup`<p>
    Searched in this copy of the store: ${objects} and ${cached} in caches, for
    ${redacted}.${absence.putAside === 0 ? '' : aside}${absence.textsOutside === 0 ? '' : outside}
  </p>`
}

function card(redaction: ReportedRedaction, devices: readonly ReportedDevice[]): Markup {
  const { absence, certificate, reason = 'unspecified', versionIds } = redaction
  const versions = countText(versionIds.length, 'version', 'versions')
  const badgeKind = absence === 'nothing_found' ? 'good' : absence === 'found' ? 'bad' : 'warn'
  const ids: Value[] = versionIds.slice(0, IDS_MAX).map(code)
  const more = versionIds.length - ids.length
  if (more > 0) ids.push(`and ${numberText(more)} more, which the report as JSON names`)
  const proof = certificate && proofOf(certificate, devices)
  return markup`<article class="card">
    <h3>${versions} redacted on ${time(redaction.time)}: ${reason}</h3>
    ${facts([
      ['By the device', device(redaction.deviceId, devices)],
      ['Actor', actorText(redaction.actor)],
      ['Session', redaction.session ?? 'not recorded'],
      ['Record', code(redaction.record)],
      ['Commit', code(redaction.commit)],
      ['Versions', markup`<ul class="ids">${items(ids)}</ul>`],
      ['Certificate', proof ?? 'none was given'],
      ['Proof of absence', badge(badgeKind, absenceText(absence))],
      ['Not confirmed by', unconfirmed(redaction, devices)],
    ])}
  </article>`
}

function proofOf(
  { issued_by: issuedBy, device_id: redactor }: RedactionCertificate,
  devices: readonly ReportedDevice[],
): Markup {
  if (issuedBy === undefined) return markup`Verified, signed by ${device(redactor, devices)}`
  return markup`Verified, issued again from the record by ${device(issuedBy, devices)}, without the
    ids of the erased objects`
}

function unconfirmed(redaction: ReportedRedaction, devices: readonly ReportedDevice[]): Value {
  const all = [
    ...redaction.unconfirmedDevices.map((pending) => pendingDevice(pending, devices)),
    ...redaction.unconfirmedRemotes.map((remote) => {
      return markup`the remote ${named(remote)}: not known to have it`
    }),
  ]
  return all.length === 0 ? 'no one: every other active device has confirmed it' : list(all)
}

function pendingDevice(pending: PendingDevice, devices: readonly ReportedDevice[]): Markup {
  const { deviceId, role, canAcknowledge, lastRecord } = pending
  const written =
    lastRecord === undefined ? 'has written nothing' : markup`last wrote ${time(lastRecord)}`
  const why = canAcknowledge ? written : 'may not write, so that it cannot be known'
  return markup`${device(deviceId, devices)}, ${role}: ${why}`
}

function deviceTable({ devices }: AuditReport): Markup {
  const rows = devices.map(({ deviceId, name, role, added, removed, lastRecord }) => [
    code(deviceId),
    name === '' ? NONE : named(name),
    removed === undefined ? role : `was ${role}`,
    time(added.time),
    removed === undefined ? 'no' : time(removed.time),
    lastRecord === undefined ? NONE : time(lastRecord),
  ])
  const heads = ['Device', 'Name', 'Role', 'Added', 'Removed', 'Newest record']
  return table('Devices, removed ones too, in the order in which they came', heads, rows)
}

function accessTable({ access, devices }: AuditReport): Markup {
  if (access.length === 0) return nothing('No access has changed in this period.')
  const rows = access.map((event) => [
    time(event.time),
    actionText(event.action),
    subjectOf(event, devices),
    markup`${device(event.deviceId, devices)}${holderText(event, (id) => id)}`,
    actorText(event.actor),
  ])
  const heads = ['Time', 'What', 'Of', 'By the device', 'Actor']
  return table('Changes of devices, passphrases and keys, oldest first', heads, rows)
}

function subjectOf({ action }: AccessEvent, devices: readonly ReportedDevice[]): Value {
  if ('grantId' in action) {
    return markup`${code(action.grantId)} as ${action.role} until ${time(action.expiresAt)}`
  }
  if (!('deviceId' in action)) return ''
  const role = 'role' in action ? ` as ${action.role}` : ''
  // Its name then, not its name now.
  if (!('name' in action)) return markup`${device(action.deviceId, devices)}${role}`
  const name = action.name === '' ? '' : markup` named ${named(action.name)}`
  return markup`${code(action.deviceId)}${role}${name}`
}

function writeTable({ writes }: AuditReport): Markup {
  if (writes.length === 0) return nothing('Nothing was written in this period.')
  const rows = writes.map(({ day, actor, session = '', created, modified, deleted, redacted }) => {
    const counts = [created, modified, deleted, redacted].map(numberText)
    return [day, actorText(actor), session, ...counts]
  })
  const heads = ['Day', 'Actor', 'Session', 'Created', 'Modified', 'Deleted', 'Redacted by now']
  return table('Versions by day, actor and session', heads, rows)
}

/** Texts remain texts; characters that hide or turn others are shown as escapes. */
function markup(strings: TemplateStringsArray, ...values: readonly Value[]): Markup {
  return { text: strings.map((part, index) => part + textOf(values[index] ?? '')).join('') }
}

function textOf(value: Value): string {
  if (typeof value === 'object') {
    return 'text' in value ? value.text : value.map(({ text }) => text).join('')
  }
  const text = visible(String(value).toWellFormed())
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

/** A name that someone chose: it cannot turn the direction of the text around it. */
function named(text: string): Markup {
  return markup`<bdi>${text}</bdi>`
}

/** By its name and its id, which alone identifies it. */
function device(id: string, devices: readonly ReportedDevice[]): Markup {
  const { name = '' } = devices.find(({ deviceId }) => deviceId === id) ?? {}
  return name === '' ? code(id) : markup`${named(name)} (${code(id)})`
}

function code(text: string): Markup {
  return markup`<code>${text}</code>`
}

function time(milliseconds: number): Markup {
  const exact = timestamp(milliseconds)
  const [day = '', clock = ''] = exact.split('T')
  return markup`<time datetime="${exact}">${day} ${clock.slice(0, 8)} UTC</time>`
}

function badge(kind: 'good' | 'warn' | 'bad', text: string): Markup {
  return markup`<span class="badge ${kind}">${text}</span>`
}

const NONE = markup`<span class="none">none</span>`

function nothing(sentence: string): Markup {
  return markup`<p class="none">${sentence}</p>`
}

function list(values: readonly Value[]): Markup {
  return markup`<ul>${items(values)}</ul>`
}

function items(values: readonly Value[]): readonly Markup[] {
  return values.map((value) => markup`<li>${value}</li>`)
}

type Facts = readonly (readonly [term: string, value: Value])[]

/** Terms with their values, each on its own line. */
function facts(rows: Facts): Markup {
  const pairs = rows.map(([term, value]) => {
    return markup`<div><dt>${term}</dt><dd>${value}</dd></div>`
  })
  return markup`<dl>${pairs}</dl>`
}

/** In a region that the keyboard can scroll. The first cell of each row is its header. */
function table(
  caption: string,
  heads: readonly string[],
  rows: readonly (readonly Value[])[],
): Markup {
  const body = rows.map(([first = '', ...others]) => {
    const cells = others.map((value) => markup`<td>${value}</td>`)
    return markup`<tr><th scope="row">${first}</th>${cells}</tr>`
  })
  const columns = heads.map((head) => markup`<th scope="col">${head}</th>`)
  return markup`<div class="scroll" role="region" aria-label="${caption}" tabindex="0">
    <table>
      <caption>${caption}</caption>
      <thead><tr>${columns}</tr></thead>
      <tbody>${body}</tbody>
    </table>
  </div>`
}

const STYLE: Markup = {
  text: `<style>
:root { color-scheme: light dark; --ink: light-dark(#1c2024, #e8eaed);
  --soft: light-dark(#596068, #a5adb6); --line: light-dark(#d5d9de, #3a4048);
  --page: light-dark(#fff, #15181c); --card: light-dark(#f6f7f9, #1e2328);
  --accent: light-dark(#2458c5, #82aaff); --good: light-dark(#17693a, #86d9a5);
  --warn: light-dark(#8a4b00, #f2bf73); --bad: light-dark(#a5182a, #ff9da7) }
* { box-sizing: border-box }
body { max-width: 77rem; margin: 0 auto; padding: 2.5rem 1.5rem 3rem; background: var(--page);
  color: var(--ink); font: 16px/1.5 system-ui, "Segoe UI", Roboto, "Helvetica Neue", sans-serif }
h1 { margin: 0 0 1rem; font-size: 1.875rem; line-height: 1.25; overflow-wrap: anywhere }
h2 { margin: 3rem 0 .75rem; font-size: 1.375rem; line-height: 1.3 }
h3 { margin: 0 0 .75rem; font-size: 1.0625rem }
p { margin: 0 0 .75rem }
p, ul { max-width: 46rem }
ul { margin: 0; padding-left: 1.25rem }
code, .words { overflow-wrap: anywhere; font-size: .875em;
  font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace }
dl { margin: 0; display: grid; gap: .375rem }
dl > div { display: grid; grid-template-columns: 11rem minmax(0, 1fr); gap: 1rem }
dt, caption, thead th, footer, .none { color: var(--soft) }
dd { margin: 0; overflow-wrap: anywhere }
.badge { padding: .125rem .625rem; border: 1px solid; border-radius: 1rem; font-weight: 600;
  font-size: .875rem }
.good { color: var(--good) }
.warn { color: var(--warn) }
.bad { color: var(--bad) }
.card { margin: 0 0 1rem; padding: 1.25rem; border: 1px solid var(--line); border-radius: .5rem;
  background: var(--card) }
.words, nav ul { display: flex; flex-wrap: wrap; gap: .375rem .75rem; padding: 0;
  max-width: none; list-style: none }
.words li { padding: 0 .5rem; border: 1px solid var(--line); border-radius: .25rem }
.ids { columns: 19rem; max-width: none; list-style: none; padding: 0 }
.scroll { overflow-x: auto }
table { width: 100%; border-collapse: collapse; font-size: .875rem;
  font-variant-numeric: tabular-nums }
caption { padding: 0 0 .5rem; text-align: left }
th, td { padding: .375rem .75rem .375rem 0; border-bottom: 1px solid var(--line); text-align: left;
  vertical-align: top; font-weight: 400 }
th code, td code, th time, td time { white-space: nowrap }
nav ul { margin: 1.5rem 0 0; padding: .75rem 0 0; border-top: 1px solid var(--line) }
a { color: var(--accent) }
footer { margin-top: 3rem; font-size: .875rem }
@media (max-width: 40rem) { dl > div { grid-template-columns: 1fr; gap: 0 } }
@media print {
  :root { color-scheme: light }
  body { max-width: none; padding: 0; font-size: 10pt }
  h2, h3, caption { break-after: avoid }
  tr { break-inside: avoid }
  .scroll { overflow: visible }
  nav { display: none }
  th code, td code, th time, td time { white-space: normal }
  table { font-size: 8pt }
}
</style>`,
}

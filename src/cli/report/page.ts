// A report as one HTML page: no script, no other file, no network. For people, screen readers and
// paper. Pure.

import type { AuditReport } from '../../store/report/audit-report.ts'
import { countText, numberText } from '../text/sizes.ts'
import { code, device, facts, html, type Html, named, style, time, type Value } from './html.ts'
import { accessTable, deviceTable, writeTables } from './page-tables.ts'
import { redactionCards } from './redaction-cards.ts'
import { limitsOf } from './wording.ts'

interface Section {
  readonly id: string
  readonly title: string
  readonly content: Html | readonly Html[]
}

/** `createdAt` is when the report was made. The text ends in a newline. */
export function reportPage(report: AuditReport, createdAt: number): string {
  const name = report.name ?? report.storeId
  const sections = sectionsOf(report)
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <!-- The first store id in the file is its subject (FORMAT §10.3): before the name. -->
        <meta name="store" content="${report.storeId}" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta
          http-equiv="Content-Security-Policy"
          content="default-src 'none'; style-src 'unsafe-inline'"
        />
        <title>Report on the store ${name}</title>
        ${style}
      </head>
      <body>
        <header>
          <h1>Report on the store ${named(name)}</h1>
          ${headFacts(report, createdAt)} ${navigation(sections)}
        </header>
        <main>${sections.map(sectionHtml)}</main>
        <footer>
          <p>
            Whether this file is unchanged, and who made it: ${code('gitlocket report verify')},
            with the signature next to the file.
          </p>
        </footer>
      </body>
    </html>`
  return `${page.markup}\n`
}

function sectionsOf(report: AuditReport): readonly Section[] {
  const limits = limitsOf(report).map((limit) => html`<li>${limit}</li>`)
  return [
    { id: 'verification', title: 'Verification', content: verification(report) },
    { id: 'redactions', title: 'Redactions', content: redactionCards(report) },
    { id: 'devices', title: 'Devices', content: deviceTable(report) },
    { id: 'access', title: 'Changes of access', content: accessTable(report) },
    {
      id: 'limits',
      title: 'What this report cannot prove',
      content: html`<ul>
        ${limits}
      </ul>`,
    },
    { id: 'writes', title: 'Writes', content: writeTables(report) },
  ]
}

function sectionHtml({ id, title, content }: Section): Html {
  return html`<section aria-labelledby="${id}">
    <h2 id="${id}">${title}</h2>
    ${content}
  </section>`
}

function navigation(sections: readonly Section[]): Html {
  const links = sections.map(({ id, title }) => html`<li><a href="#${id}">${title}</a></li>`)
  return html`<nav aria-label="Sections">
    <ul>
      ${links}
    </ul>
  </nav>`
}

function headFacts(report: AuditReport, createdAt: number): Html {
  const { storeId, deviceId, devices, role, since, until } = report
  return facts([
    ['Store', code(storeId)],
    ['Made', time(createdAt)],
    ['By the device', html`${device(deviceId, devices)}, ${role ?? 'removed'}`],
    ['Period', period(since, until)],
  ])
}

function period(since: number | undefined, until: number | undefined): Value {
  if (since === undefined && until === undefined) return 'the whole history'
  const from = since === undefined ? 'the first commit' : time(since)
  return html`${from} to ${until === undefined ? 'now' : time(until)}`
}

function verification({ verification: found, leftOut }: AuditReport): Html {
  const isWhole = found.extent === 'history'
  const words = found.headFingerprint.map((word) => html`<li>${word}</li>`)
  const table = facts([
    ['Commits', numberText(found.commits)],
    ['Versions', numberText(found.versions)],
    ['Memories now', numberText(found.memories)],
    ['Head', code(found.head)],
    [
      'Its twelve words',
      html`<ol class="words">
        ${words}
      </ol>`,
    ],
  ])
  return html`<div class="card">
      <p><span class="badge good">${isWhole ? 'Verified' : 'Trail verified'}</span></p>
      <p>${isWhole ? wholeText : trailText}</p>
      ${table}
    </div>
    ${leftOut === 0 ? '' : leftOutWarning(leftOut)}`
}

const wholeText = 'Every commit, signature, change of keys and content, from the first commit on.'
const trailText =
  'Every record, signature, change of keys and file name, from the first commit on; not what an ' +
  'auditor cannot open: contents, paths, settings.'

function leftOutWarning(leftOut: number): Html {
  return html`<p>
    <span class="badge warn">Left out</span> ${countText(leftOut, 'record', 'records')} that this
    device had verified are not in the history any more, as its user accepted:
    ${code('gitlocket audit')} lists them.
  </p>`
}

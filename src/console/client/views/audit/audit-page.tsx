// Proofs: that every commit verifies, and a report of who had access, who wrote and which versions
// were erased. It can be printed.

import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { AuditReport, VerifyReport } from '../../../../operations/console/contract.ts'
import { ask } from '../../core/ask.ts'
import { useAction } from '../../core/use-action.ts'
import { downloadText } from '../../parts/download.ts'
import { submitting, TimeFields, type TimeSpan } from '../../parts/field.tsx'
import { Failure, ProgressBar } from '../../parts/labels.tsx'
import { ListTable } from '../../parts/list-table.tsx'
import { Slices } from '../../parts/pager.tsx'
import { absoluteTime, countOf } from '../../parts/times.ts'

export function AuditPage() {
  return (
    <>
      <h1>Audit</h1>
      <Verification />
      <Report />
    </>
  )
}

function Verification() {
  const { run, isRunning, progress, failure, result } = useAction<VerifyReport>()
  return (
    <section class="no-print">
      <h2>Verification</h2>
      <p>
        <button
          type="button"
          class="pri"
          aria-disabled={isRunning}
          onClick={() => void run((options) => ask('audit.verify', {}, options))}
        >
          Verify every commit
        </button>
      </p>
      <p role="status">
        {isRunning && 'Verifying from the first commit on…'}
        {result !== undefined &&
          `Verified ${countOf(result.commits, 'commit')}, ${countOf(result.versions, 'version')} ` +
            `and ${countOf(result.memories, 'memory')}: all of it holds.`}
      </p>
      <ProgressBar progress={progress} />
      <Failure failure={failure} />
    </section>
  )
}

function Report() {
  const [span, setSpan] = useState<TimeSpan>({})
  const report = useAction<AuditReport>()
  const csv = useAction<void>()
  const isRunning = report.isRunning || csv.isRunning
  return (
    <section>
      <h2>Report</h2>
      <form
        class="go no-print"
        onSubmit={submitting(() => {
          void report.run((options) => ask('audit.report', span, options))
        })}
      >
        <TimeFields span={span} onSpan={setSpan} />
        <button type="submit" class="pri" aria-disabled={isRunning}>
          Make the report
        </button>
        <button
          type="button"
          aria-disabled={isRunning}
          onClick={() => {
            void csv.run(async (options) => {
              const made = await ask('audit.csv', span, options)
              downloadText('report.csv', 'text/csv', made.csv)
            })
          }}
        >
          Download as CSV
        </button>
        {report.result !== undefined && (
          <button type="button" onClick={() => print()}>
            Print
          </button>
        )}
      </form>
      <p role="status">{isRunning && 'Verifying, then counting…'}</p>
      <ProgressBar progress={report.progress ?? csv.progress} />
      <Failure failure={report.failure} />
      <Failure failure={csv.failure} />
      {report.result !== undefined && <ReportView report={report.result} />}
    </section>
  )
}

/** On screen and on paper: names no path and holds no content. */
function ReportView({ report }: { readonly report: AuditReport }) {
  const { storeId, name, deviceId, role, verification } = report
  const { extent, head, headFingerprint, commits, versions, memories } = verification
  return (
    <div class="report">
      <dl>
        <dt>Store</dt>
        <dd>
          {name} <code>{storeId}</code>
        </dd>
        <dt>Made by</dt>
        <dd>
          <code>{deviceId}</code>, {role}
        </dd>
        <dt>Verified</dt>
        <dd>
          {extent === 'history' ? 'everything' : 'all but contents, paths and settings'}:{' '}
          {countOf(commits, 'commit')}, {countOf(versions, 'version')},{' '}
          {countOf(memories, 'memory')}
        </dd>
        <dt>Head</dt>
        <dd>
          <code>{head}</code>
          <br />
          {headFingerprint.join(' ')}
        </dd>
      </dl>
      <Access report={report} />
      <Writes report={report} />
      <Redactions report={report} />
    </div>
  )
}

interface ReportOnly {
  readonly report: AuditReport
}

function Access({ report: { access, devices } }: ReportOnly) {
  const names = new Map(devices.map(({ deviceId, name }) => [deviceId, name]))
  const nameOf = (id: string): string => names.get(id) || id
  return (
    <Table
      title="Access"
      rows={access}
      columns={['When', 'By', 'What', 'Device']}
      cells={({ time, deviceId, action }) => [
        absoluteTime(time),
        nameOf(deviceId),
        action.type.replaceAll('_', ' ') + ('role' in action ? `: ${action.role}` : ''),
        'deviceId' in action ? nameOf(action.deviceId) : '',
      ]}
    />
  )
}

function Writes({ report: { writes } }: ReportOnly) {
  return (
    <Table
      title="Writes"
      rows={writes}
      columns={['Day (UTC)', 'Actor', 'Session', 'Created', 'Modified', 'Deleted', 'Redacted']}
      cells={({ day, actor, session, created, modified, deleted, redacted }) =>
        [day, actor?.id ?? '', session ?? ''].concat(
          [created, modified, deleted, redacted].map((count) => count.toLocaleString()),
        )
      }
    />
  )
}

const absences = {
  nothing_found: 'nothing is left',
  may_be_repeated: 'may be repeated',
  found: 'FOUND',
} as const

function Redactions({ report: { redactions } }: ReportOnly) {
  return (
    <Table
      title="Redactions"
      rows={redactions}
      columns={['When', 'Why', 'Versions', 'Search', 'Not confirmed by']}
      cells={({ time, reason, versionIds, absence, ...open }) => [
        absoluteTime(time),
        reason?.replaceAll('_', ' ') ?? '',
        versionIds.length.toLocaleString(),
        absence === undefined ? 'not searched' : absences[absence],
        [
          ...open.unconfirmedDevices.map(({ name, deviceId }) => name || deviceId),
          ...open.unconfirmedRemotes,
        ].join(', '),
      ]}
    />
  )
}

interface AuditTableProps<Row> {
  readonly title: string
  readonly rows: readonly Row[]
  readonly columns: readonly string[]
  readonly cells: (row: Row) => readonly ComponentChildren[]
}

function Table<Row>({ title, rows, columns, cells }: AuditTableProps<Row>) {
  return (
    <section>
      <h3>
        {title} <span class="dim">{rows.length.toLocaleString()}</span>
      </h3>
      <Slices label={title} rows={rows}>
        {(slice) => (
          <ListTable label={title} heads={columns}>
            {slice.map((row, index) => (
              <tr key={index}>
                {cells(row).map((cell, at) => (
                  <td key={at}>{cell}</td>
                ))}
              </tr>
            ))}
          </ListTable>
        )}
      </Slices>
    </section>
  )
}

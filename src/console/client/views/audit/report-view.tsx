// A report on screen, and on paper: names no path and holds no content.

import type { ComponentChildren, JSX } from 'preact'
import type { AuditReport } from '../../../../api/console/contract.ts'
import { Slices } from '../../parts/slices.tsx'
import { absoluteTime, countOf } from '../../parts/times.ts'

export function ReportView({ report }: { readonly report: AuditReport }): JSX.Element {
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

function Access({ report: { access, devices } }: ReportOnly): JSX.Element {
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

function Writes({ report: { writes } }: ReportOnly): JSX.Element {
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

function Redactions({ report: { redactions } }: ReportOnly): JSX.Element {
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

interface TableProps<Row> {
  readonly title: string
  readonly rows: readonly Row[]
  readonly columns: readonly string[]
  readonly cells: (row: Row) => readonly ComponentChildren[]
}

function Table<Row>({ title, rows, columns, cells }: TableProps<Row>): JSX.Element {
  return (
    <section>
      <h3>
        {title} <span class="dim">{rows.length.toLocaleString()}</span>
      </h3>
      <Slices label={title} rows={rows}>
        {(slice) => (
          <div class="wide-list" tabIndex={0} role="region" aria-label={title}>
            <table class="list">
              <thead>
                <tr>
                  {columns.map((column) => (
                    <th key={column} scope="col">
                      {column}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {slice.map((row, index) => (
                  <tr key={index}>
                    {cells(row).map((cell, at) => (
                      <td key={at}>{cell}</td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Slices>
    </section>
  )
}

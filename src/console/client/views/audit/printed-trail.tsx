// The trail on paper: every row of the filter, never one page of them, under the period, the time
// of printing and the device that prints.

import { useMemo } from 'preact/hooks'
import type { AuditState, TrailInput } from '../../../../operations/console/contract.ts'
import { overview } from '../../core/state.ts'
import { absoluteTime, countOf } from '../../parts/times.ts'
import { kinds, type TrailRows, waitingText, whatText, whereText, whoText } from './trail-rows.ts'

interface PrintedTrailProps {
  readonly state: AuditState | undefined
  /** Undefined until the user asks for them. */
  readonly rows: TrailRows | undefined
  readonly filter: TrailInput
}

export function PrintedTrail({ state, rows, filter }: PrintedTrailProps) {
  const printedAt = useMemo(() => Date.now(), [rows])
  if (state === undefined || rows === undefined) {
    return (
      <p class="print-only">
        This page shows only a part of the trail. Choose &ldquo;Print the trail&rdquo; on it to
        print all of it.
      </p>
    )
  }
  return (
    <div class="print-only">
      <h1>Trail of {overview.value?.name || state.storeId}</h1>
      <dl>
        {factsOf(state, filter, printedAt).map(([term, value]) => (
          <>
            <dt>{term}</dt>
            <dd>{value}</dd>
          </>
        ))}
      </dl>
      {state.unconfirmed.length > 0 && (
        <>
          <h2>Redactions not confirmed</h2>
          <ul>
            {state.unconfirmed.map(({ commit, time, versions, devices }) => (
              <li key={commit}>
                {countOf(versions, 'version')}, {absoluteTime(time)}. Waiting for{' '}
                {devices.map(waitingText).join('; ')}
              </li>
            ))}
          </ul>
        </>
      )}
      <h2>{countOf(rows.length, 'row')}, newest first</h2>
      <Rows rows={rows} />
    </div>
  )
}

function Rows({ rows }: { readonly rows: TrailRows }) {
  return (
    <table class="list">
      <thead>
        <tr>
          {['When', 'Who', 'What', 'Device', 'Commit'].map((head) => (
            <th key={head} scope="col">
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.commit}>
            <td>{absoluteTime(row.time)}</td>
            <td>{whoText(row)}</td>
            <td>{whatText(row)}</td>
            <td>{whereText(row)}</td>
            <td>
              <code>{row.commit.slice(0, 12)}</code>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function factsOf(
  state: AuditState,
  { who, kind, since, until }: TrailInput,
  printedAt: number,
): readonly (readonly [string, string])[] {
  const from = since === undefined ? 'the first commit' : absoluteTime(since)
  const to = until === undefined ? 'the newest' : absoluteTime(until)
  const chosen = [
    ...(who === undefined ? [] : [`with \u201c${who}\u201d in a name`]),
    ...kinds.filter(([name]) => name === kind).map(([, words]) => words),
  ]
  return [
    ['Store', state.storeId],
    ['Period', `from ${from} to ${to}`],
    ['Only', chosen.length === 0 ? 'everything is listed' : chosen.join(', ')],
    ['Printed', absoluteTime(printedAt)],
    ['By the device', `${state.deviceName}, ${state.role ?? 'removed'}`],
    ['Last verified', absoluteTime(state.verifiedAt)],
    ['Head', `${state.head}, ${state.headFingerprint.join(' ')}`],
  ]
}

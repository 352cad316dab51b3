// The page for audits: when everything was verified last, the signed report, the redactions that a
// device has not confirmed, and the trail, which names no path and holds no text.

import { signal } from '@preact/signals'
import { useState } from 'preact/hooks'
import type { AuditState, TrailInput } from '../../../../operations/console/contract.ts'
import { addressOf } from '../../core/address.ts'
import { ask } from '../../core/ask.ts'
import { forgetAtEnd } from '../../core/session.ts'
import { overview } from '../../core/state.ts'
import { type Action, useAction } from '../../core/use-action.ts'
import { useAsk } from '../../core/use-ask.ts'
import { downloadText } from '../../parts/download.ts'
import { Failure, Heading, ProgressBar } from '../../parts/labels.tsx'
import { ListTable } from '../../parts/list-table.tsx'
import { absoluteTime, countOf } from '../../parts/times.ts'
import { PrintedTrail } from './printed-trail.tsx'
import { rowsOf, type TrailRows, waitingText } from './trail-rows.ts'
import { TrailFilter, TrailTable } from './trail.tsx'

// In RAM alone: a name never enters an address. It is kept for the user's return.
const filter = signal<TrailInput>({})

forgetAtEnd(() => {
  filter.value = {}
})

export function AuditPage() {
  const { data, failure } = useAsk('audit.state', {})
  const [rows, setRows] = useState<TrailRows>()
  const verifying = useAction<object>()
  const making = useAction<void>()
  const choose = (next: TrailInput): void => {
    filter.value = next
    // Rows of another filter must not be printed under this one.
    setRows(undefined)
  }
  return (
    <>
      <div class="screen-only">
        <Heading title="Audit">
          <Reports making={making} onRows={setRows} />
        </Heading>
        <ProgressBar progress={making.progress} />
        <Failure failure={making.failure} />
        <Verification state={data} verifying={verifying} />
        <Failure failure={failure} />
        {data !== undefined && (
          <>
            <Unconfirmed state={data} />
            <section>
              <h2>Trail</h2>
              <TrailFilter filter={filter.value} onFilter={choose} />
              <TrailTable filter={filter.value} />
            </section>
          </>
        )}
      </div>
      <PrintedTrail state={data} rows={rows} filter={filter.value} />
    </>
  )
}

interface ReportsProps {
  readonly making: Action<void>
  readonly onRows: (rows: TrailRows) => void
}

/** All of them are about the period that the filter names. */
function Reports({ making: { run, isRunning }, onRows }: ReportsProps) {
  const { since, until } = filter.value
  const span = { since, until }
  const day = new Date().toISOString().slice(0, 10)
  const signed = (): void => {
    void run(async (options) => {
      const { html, signature } = await ask('audit.signed', span, options)
      const name = `gitlocket-report-${day}.html`
      downloadText(name, 'text/html', html)
      downloadText(`${name}.sig`, 'application/octet-stream', signature)
    })
  }
  const csv = (): void => {
    void run(async (options) => {
      const made = await ask('audit.csv', span, options)
      downloadText(`gitlocket-report-${day}.csv`, 'text/csv', made.csv)
    })
  }
  const printAll = (): void => {
    void run(async (options) => {
      onRows(await rowsOf(filter.value, options))
      // Once they are drawn.
      requestAnimationFrame(() => setTimeout(() => print()))
    })
  }
  return (
    <>
      <button type="button" class="pri" aria-disabled={isRunning} onClick={signed}>
        {isRunning ? 'Working…' : 'Download signed report'}
      </button>
      <button type="button" aria-disabled={isRunning} onClick={csv}>
        CSV
      </button>
      <button type="button" aria-disabled={isRunning} onClick={printAll}>
        Print the trail
      </button>
    </>
  )
}

interface VerificationProps {
  readonly state: AuditState | undefined
  readonly verifying: Action<object>
}

function Verification({ state, verifying }: VerificationProps) {
  const { run, isRunning, progress, failure } = verifying
  const isKnown = state !== undefined && failure === undefined
  return (
    <section class={isKnown ? 'verified' : 'verified unknown'} aria-label="Verification">
      <p role="status">
        {isRunning && 'Verifying from the first commit on…'}
        {!isRunning && state === undefined && failure === undefined && 'Verifying…'}
        {!isRunning && isKnown && <VerifiedText state={state} />}
      </p>
      <button
        type="button"
        aria-disabled={isRunning}
        onClick={() => void run((options) => ask('audit.verify', {}, options))}
      >
        Verify every commit
      </button>
      <ProgressBar progress={progress} />
      <Failure failure={failure} />
      {isKnown && state.leftOut > 0 && (
        <p class="failure">
          {countOf(state.leftOut, 'record')} that this device had verified are not in the history
          any more, as its user accepted: <code>gitlocket audit</code> lists them.
        </p>
      )}
    </section>
  )
}

function VerifiedText({ state }: { readonly state: AuditState }) {
  const { verifiedAt, commits, versions, memories, headFingerprint, isBehind } = state
  return (
    <>
      <b>Last verified {absoluteTime(verifiedAt)}</b>: {countOf(commits, 'commit')},{' '}
      {countOf(versions, 'version')}, {countOf(memories, 'memory')}; all of it holds.
      {isBehind && ' There are newer commits: verify again to list them.'}
      <br />
      <span class="dim">
        The twelve words of its head: <span class="words">{headFingerprint.join(' ')}</span>
      </span>
    </>
  )
}

function Unconfirmed({ state: { unconfirmed } }: { readonly state: AuditState }) {
  if (unconfirmed.length === 0) return null
  const isMember = overview.value?.audience === 'member'
  return (
    <section class="unconfirmed">
      <h2>
        Redactions not confirmed <span class="dim">{unconfirmed.length}</span>
      </h2>
      <p>
        These devices have not shown yet that they erased the versions. Each confirms with its next
        sync.
      </p>
      <ListTable label="Redactions not confirmed" heads={['Redacted', 'Why', 'Waiting for']}>
        {unconfirmed.map(({ commit, time, reason, versions, devices }) => (
          <tr key={commit}>
            <th scope="row">
              {countOf(versions, 'version')}, {absoluteTime(time)}
            </th>
            <td>{reason?.replaceAll('_', ' ')}</td>
            <td>
              {devices.map((device) => (
                <div key={device.deviceId}>{waitingText(device)}</div>
              ))}
            </td>
          </tr>
        ))}
      </ListTable>
      {isMember && (
        <p>
          <a class="button" href={addressOf.view('redaction')}>
            Open redactions
          </a>
        </p>
      )}
    </section>
  )
}

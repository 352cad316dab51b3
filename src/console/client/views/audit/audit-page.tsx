// Proofs: that every commit verifies, and a report of who had access, who wrote and which versions
// were erased. It can be printed.

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { AuditReport, VerifyReport } from '../../../../api/console/contract.ts'
import { ask } from '../../core/ask.ts'
import { useAction } from '../../core/use-action.ts'
import { downloadText } from '../../parts/download.ts'
import { Failure } from '../../parts/failure.tsx'
import { ProgressBar } from '../../parts/labels.tsx'
import { TimeFields, type TimeSpan } from '../../parts/time-fields.tsx'
import { countOf } from '../../parts/times.ts'
import { ReportView } from './report-view.tsx'

export function AuditPage(): JSX.Element {
  return (
    <>
      <h1>Audit</h1>
      <Verification />
      <Report />
    </>
  )
}

function Verification(): JSX.Element {
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
      {failure !== undefined && <Failure failure={failure} />}
    </section>
  )
}

function Report(): JSX.Element {
  const [span, setSpan] = useState<TimeSpan>({})
  const report = useAction<AuditReport>()
  const csv = useAction<void>()
  const isRunning = report.isRunning || csv.isRunning
  return (
    <section>
      <h2>Report</h2>
      <form
        class="go no-print"
        onSubmit={(event) => {
          event.preventDefault()
          void report.run((options) => ask('audit.report', span, options))
        }}
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
      {report.failure !== undefined && <Failure failure={report.failure} />}
      {csv.failure !== undefined && <Failure failure={csv.failure} />}
      {report.result !== undefined && <ReportView report={report.result} />}
    </section>
  )
}

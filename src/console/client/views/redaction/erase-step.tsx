// Step 3, the last before anything is erased: the number is typed, so that no one erases by habit.
// Step 4: the certificate, the search for erased texts, and the devices that have not confirmed.

import { useEffect, useRef, useState } from 'preact/hooks'
import type {
  EraseInput,
  ErasePlan,
  EraseResult,
  ErasureProof,
  Selection,
  WayOut,
} from '../../../../operations/console/contract.ts'
import { ask } from '../../core/ask.ts'
import { useAction } from '../../core/use-action.ts'
import { downloadText } from '../../parts/download.ts'
import { Choice, Field, submitting } from '../../parts/field.tsx'
import { Failure, ProgressBar } from '../../parts/labels.tsx'
import { absoluteTime, countOf } from '../../parts/times.ts'

interface EraseStepProps {
  readonly select: Selection
  readonly plan: ErasePlan
  readonly onBack: () => void
  readonly onErased: (erased: EraseResult) => void
}

type Why = EraseInput['why']

const reasons: readonly (readonly [Why, string])[] = [
  ['unspecified', 'unspecified'],
  ['leaked_secret', 'leaked secret'],
  ['personal_data', 'personal data'],
  ['legal', 'legal reasons'],
  ['poisoned', 'poisoned memory'],
  ['retention', 'expired'],
]

const ways: readonly (readonly [WayOut, string])[] = [
  ['delete', 'delete these memories'],
  ['overwrite', 'overwrite them with a text without it'],
  ['keep', 'keep these versions: they are not erased'],
]

export function EraseStep({ select, plan, onBack, onErased }: EraseStepProps) {
  const [why, setWhy] = useState<Why>('unspecified')
  const [current, setCurrent] = useState<WayOut>('delete')
  const [typed, setTyped] = useState('')
  const { run, isRunning, progress, failure } = useAction<EraseResult>()
  const hasCurrent = plan.current.length > 0
  const kept = new Set(hasCurrent && current === 'keep' ? plan.current.map(idOf) : [])
  const confirmed = plan.versions.map(idOf).filter((id) => !kept.has(id))
  const isReady = typed.trim() === String(confirmed.length) && confirmed.length > 0 && !isRunning
  const erase = async (): Promise<void> => {
    const way = hasCurrent ? { current } : {}
    const input = { select, why, confirmed, ...way }
    const erased = await run((options) => ask('redaction.run', input, options))
    if (erased !== undefined) onErased(erased)
  }
  return (
    <form
      onSubmit={submitting(() => {
        if (isReady) void erase()
      })}
    >
      <p>
        <Choice label="Why" value={why} options={reasons} onChoose={setWhy} />
      </p>
      {hasCurrent && (
        <p>
          <Choice
            label={`${countOf(plan.current.length, 'version')} of them in use now`}
            value={current}
            options={ways}
            onChoose={setCurrent}
          />
        </p>
      )}
      <p>
        Erasing <b>{countOf(confirmed.length, 'version')}</b> cannot be undone.
      </p>
      <div class="go">
        <Field
          label={`Type ${confirmed.length} to erase`}
          value={typed}
          onValue={setTyped}
          autoFocus
        />
        <button type="button" onClick={onBack}>
          Back
        </button>
        <span class="sp" />
        <button type="submit" class="danger" aria-disabled={!isReady}>
          {isRunning ? 'Erasing…' : `Erase ${countOf(confirmed.length, 'version')}`}
        </button>
        <ProgressBar progress={progress} />
        <Failure failure={failure} />
      </div>
    </form>
  )
}

function idOf({ versionId }: { readonly versionId: string }): string {
  return versionId
}

interface ProofStepProps {
  /** The erased versions; undefined for the proof alone. */
  readonly erased: EraseResult | undefined
  readonly onAgain: () => void
}

export function ProofStep({ erased, onAgain }: ProofStepProps) {
  const box = useRef<HTMLParagraphElement>(null)
  const certificate = erased?.certificate
  const { run, isRunning, progress, failure, result } = useAction<ErasureProof>()
  const search = (): void => {
    void run((options) => ask('redaction.proof', { certificate }, options))
  }
  useEffect(() => {
    box.current?.focus()
    search()
  }, [])
  return (
    <>
      <p class="banner good" tabIndex={-1} ref={box} role="status">
        {erased !== undefined && <b>Erased {countOf(erased.versions.length, 'version')}. </b>}
        {isRunning && 'Searching the whole store for the erased texts…'}
        {result !== undefined && summaryOf(result)}
      </p>
      {erased?.isErased === false && (
        <p class="failure" role="alert">
          The versions are redacted, but not all of it could be erased from the disk: run{' '}
          <code>gitlocket compact</code>, then search again.
        </p>
      )}
      <ProgressBar progress={progress} />
      <Failure failure={failure} />
      {certificate !== undefined && (
        <p>
          <button
            type="button"
            class="pri"
            onClick={() => downloadText('certificate.json', 'application/json', certificate)}
          >
            Download the certificate
          </button>{' '}
          It is shown only here: signed by this device, with the ids that a host must erase.
        </p>
      )}
      {result !== undefined && <Details proof={result} />}
      <div class="go">
        <button type="button" aria-disabled={isRunning} onClick={search}>
          Search again
        </button>
        <span class="sp" />
        <button type="button" onClick={onAgain}>
          Erase something else
        </button>
      </div>
    </>
  )
}

function summaryOf(proof: ErasureProof): string {
  const { versions, objects, cached, found, textsOutside } = proof
  const where = `${countOf(objects, 'object')} and ${countOf(cached, 'version')} in caches`
  const searched = `Searched ${where} for ${countOf(versions, 'redacted version')}: `
  if (found.length > 0) return `${searched}found in ${found.length} places.`
  return searched + (textsOutside.length === 0 ? 'nothing is left.' : 'of these nothing is left.')
}

function Details({ proof }: { readonly proof: ErasureProof }) {
  const { found, pending, putAside, builtOnRedacted, pendingDevices, behindRemotes } = proof
  const { textsOutside } = proof
  return (
    <>
      {found.length > 0 && pending > 0 && (
        <p>{countOf(pending, 'object')} are erased by the next checkpoint: search again then.</p>
      )}
      {putAside > 0 && <p>{countOf(putAside, 'damaged file')} were not searched.</p>}
      {builtOnRedacted.length > 0 && (
        <section>
          <h2>May repeat an erased text</h2>
          <p>A device that did not know of the redaction wrote these on top of it.</p>
          <ul>
            {builtOnRedacted.map(({ versionId, path, memoryId }) => (
              <li key={versionId}>{path ?? memoryId}</li>
            ))}
          </ul>
        </section>
      )}
      {textsOutside.length > 0 && (
        <section>
          <h2>May hold an erased text on this machine</h2>
          <p>An editor has a text of the store open, or was killed. Close it, or remove:</p>
          <ul>
            {textsOutside.map((directory) => (
              <li key={directory}>{directory}</li>
            ))}
          </ul>
        </section>
      )}
      <section>
        <h2>Waiting for confirmation</h2>
        {pendingDevices.length + behindRemotes.length === 0 && <p>All have confirmed.</p>}
        <ul>
          {pendingDevices.map(({ deviceId, name, role, lastRecord, canAcknowledge }) => (
            <li key={deviceId}>
              {name === '' ? deviceId : name}, {role}
              {lastRecord === undefined
                ? ', has written nothing'
                : `, last wrote ${absoluteTime(lastRecord)}`}
              {!canAcknowledge && ': it may not write, so that it cannot be known'}
            </li>
          ))}
          {behindRemotes.map((name) => (
            <li key={name}>the remote {name}: sync</li>
          ))}
        </ul>
      </section>
    </>
  )
}

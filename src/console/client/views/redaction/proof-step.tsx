// Step 4: the certificate, the search for erased texts, and the devices that have not confirmed.

import { useEffect, useRef } from 'preact/hooks'
import type { EraseResult, ErasureProof } from '../../../../operations/console/contract.ts'
import { ask } from '../../core/ask.ts'
import { useAction } from '../../core/use-action.ts'
import { downloadText } from '../../parts/download.ts'
import { Failure, ProgressBar } from '../../parts/labels.tsx'
import { absoluteTime, countOf } from '../../parts/times.ts'

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

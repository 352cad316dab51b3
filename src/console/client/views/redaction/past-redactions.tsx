// The redactions that were made, and the page of one: the search for remains, its certificate as
// often as it is needed, the devices that have confirmed, and the request to the host.

import { useEffect, useId } from 'preact/hooks'
import type { ErasureProof, ListedRedaction } from '../../../../operations/console/contract.ts'
import { addressOf } from '../../core/address.ts'
import { ask } from '../../core/ask.ts'
import { notice, overview } from '../../core/state.ts'
import { useAction } from '../../core/use-action.ts'
import { useAsk } from '../../core/use-ask.ts'
import { downloadText } from '../../parts/download.ts'
import { Failure, Heading, Pending, ProgressBar } from '../../parts/labels.tsx'
import { ListTable } from '../../parts/list-table.tsx'
import { Slices } from '../../parts/pager.tsx'
import { absoluteTime, countOf } from '../../parts/times.ts'

export function PastRedactions() {
  const { data } = useAsk('redaction.past', {})
  if (data === undefined || data.redactions.length === 0) return null
  return (
    <section>
      <h2>
        Earlier redactions <span class="dim">{data.redactions.length}</span>
      </h2>
      <Slices label="Earlier redactions" rows={data.redactions}>
        {(rows) => (
          <ListTable
            label="Earlier redactions"
            heads={['Redacted', 'Why', 'By', 'Versions', 'Confirmed']}
          >
            {rows.map((one) => (
              <tr key={one.redaction}>
                <th scope="row">
                  <a href={addressOf.pastRedaction(one.redaction)}>{absoluteTime(one.time)}</a>
                </th>
                <td>{one.reason.replaceAll('_', ' ')}</td>
                <td>{byText(one)}</td>
                <td>{one.versions.length}</td>
                <td>
                  {one.pendingDevices.length === 0
                    ? 'by all devices'
                    : `waiting for ${countOf(one.pendingDevices.length, 'device')}`}
                </td>
              </tr>
            ))}
          </ListTable>
        )}
      </Slices>
    </section>
  )
}

function byText({ actor, deviceName, deviceId }: ListedRedaction): string {
  return `${actor.id} on ${deviceName === '' ? deviceId.slice(0, 12) : deviceName}`
}

export function RedactionDone({ redaction }: { readonly redaction: string }) {
  const past = useAsk('redaction.past', {})
  const issued = useAsk('redaction.certificate', { redaction })
  const found = past.data?.redactions.find((one) => one.redaction === redaction)
  if (found === undefined || issued.data === undefined) {
    if (past.data !== undefined && found === undefined) return <p>There is no such redaction.</p>
    return <Pending failure={past.failure ?? issued.failure} />
  }
  const { certificate, objectIds, objects } = issued.data
  const download = (): void => {
    downloadText(`certificate-${redaction.slice(0, 12)}.json`, 'application/json', certificate)
  }
  return (
    <>
      <Heading title={`Redacted ${countOf(found.versions.length, 'version')}`}>
        <button type="button" class="pri" onClick={download}>
          Download the certificate
        </button>
      </Heading>
      <p class="meta">
        {absoluteTime(found.time)} · {found.reason.replaceAll('_', ' ')} · {byText(found)}
      </p>
      <Proof certificate={certificate} />
      <div class="cards">
        <Confirmed redaction={found} />
        <HostRequest objects={objects} objectIds={objectIds} />
      </div>
    </>
  )
}

function Proof({ certificate }: { readonly certificate: string }) {
  const { run, isRunning, progress, failure, result } = useAction<ErasureProof>()
  const search = (): void => {
    void run((options) => ask('redaction.proof', { certificate }, options))
  }
  useEffect(search, [])
  const isClean = result !== undefined && result.found.length === 0
  return (
    <>
      <div class={isClean ? 'verified' : 'verified unknown'}>
        <p role="status">
          {isRunning && 'Searching the whole store for the erased texts…'}
          {result !== undefined && summaryOf(result)}
        </p>
        <button type="button" aria-disabled={isRunning} onClick={search}>
          Search again
        </button>
        <ProgressBar progress={progress} />
        <Failure failure={failure} />
      </div>
      {result !== undefined && <Details proof={result} />}
    </>
  )
}

function summaryOf(proof: ErasureProof): string {
  const { versions, objects, cached, found, textsOutside } = proof
  const where = `${countOf(objects, 'object')} and ${countOf(cached, 'version')} in caches`
  const searched = `Searched ${where} for ${countOf(versions, 'redacted version')}: `
  if (found.length > 0) return `${searched}found in ${countOf(found.length, 'place')}.`
  return searched + (textsOutside.length === 0 ? 'nothing is left.' : 'of these nothing is left.')
}

function Details({ proof }: { readonly proof: ErasureProof }) {
  const { found, pending, putAside, builtOnRedacted, textsOutside } = proof
  return (
    <>
      {found.length > 0 && (
        <p class="failure" role="alert">
          Not all of it could be erased from the disk yet: run <code>gitlocket compact</code>, then
          search again.{pending > 0 && ` The next checkpoint erases ${countOf(pending, 'object')}.`}
        </p>
      )}
      {putAside > 0 && <p>Not searched: {countOf(putAside, 'damaged file')}.</p>}
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
    </>
  )
}

function nameOf(name: string, deviceId: string): string {
  return name === '' ? deviceId : name
}

function Confirmed({ redaction }: { readonly redaction: ListedRedaction }) {
  const { pendingDevices, confirmedDevices } = redaction
  const { data } = useAsk('devices.list', {})
  const confirmed = (data?.devices ?? []).filter(({ deviceId }) =>
    confirmedDevices.includes(deviceId),
  )
  return (
    <section class={pendingDevices.length > 0 ? 'warn' : undefined}>
      <h2>Confirmed by</h2>
      <ul>
        {confirmed.map(({ deviceId, name, isThis }) => (
          <li key={deviceId}>
            {nameOf(name, deviceId)}
            {isThis && ', this device'}
          </li>
        ))}
      </ul>
      {pendingDevices.length > 0 && (
        <>
          <h2>Waiting for confirmation</h2>
          <ul>
            {pendingDevices.map(({ deviceId, name, role, lastRecord, canAcknowledge }) => (
              <li key={deviceId}>
                {nameOf(name, deviceId)}, {role}
                {lastRecord === undefined
                  ? ', has written nothing'
                  : `, last wrote ${absoluteTime(lastRecord)}`}
                {!canAcknowledge && ': it may not write, so it cannot confirm'}
              </li>
            ))}
          </ul>
          <p>A device confirms when it writes after its next sync.</p>
        </>
      )}
    </section>
  )
}

interface HostRequestProps {
  readonly objects: readonly string[]
  readonly objectIds: 'known' | 'unknown' | 'damaged'
}

/** A host keeps objects that nothing refers to until it collects its garbage. */
function HostRequest({ objects, objectIds }: HostRequestProps) {
  const id = useId()
  const remotes = overview.value?.remotes ?? []
  if (remotes.length === 0) return null
  if (objectIds !== 'known') {
    return (
      <section>
        <h2>Ask the host to erase it, too</h2>
        <p>
          {objectIds === 'unknown'
            ? 'The ids of the erased objects are known on the device that made this redaction.'
            : 'The file with the ids of the erased objects is damaged.'}
        </p>
      </section>
    )
  }
  const text = requestText(
    remotes.map(({ url }) => url),
    objects,
  )
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text)
    notice.value = 'Copied'
  }
  return (
    <section>
      <h2>Ask the host to erase it, too</h2>
      <p>
        The new history is pushed by a sync; the host may keep the old objects, as ciphertext, until
        it collects its garbage.
      </p>
      <label class="sr" for={id}>
        Request to the host
      </label>
      <textarea id={id} readOnly rows={8} value={text} />
      <p>
        <button type="button" onClick={() => void copy()}>
          Copy the request
        </button>
      </p>
    </section>
  )
}

function requestText(urls: readonly string[], objects: readonly string[]): string {
  return [
    'Please run garbage collection on the repository below, so that objects which no reference ' +
      'reaches are deleted for good, from caches and forks, too. These git objects were removed ' +
      'from its history and must not be served any more:',
    '',
    ...urls.map((url) => `Repository: ${url}`),
    '',
    ...objects,
    '',
  ].join('\n')
}

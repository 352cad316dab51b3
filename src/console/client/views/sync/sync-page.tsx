// Where the store is synced to, a sync with its report, and the twelve words of the head.

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { ResultOf, SyncReport } from '../../../../api/console/contract.ts'
import { ask } from '../../core/ask.ts'
import { mayManage, overview } from '../../core/state.ts'
import { useAction } from '../../core/use-action.ts'
import { useAsk } from '../../core/use-ask.ts'
import { Failure } from '../../parts/failure.tsx'
import { Field } from '../../parts/field.tsx'
import { ProgressBar } from '../../parts/labels.tsx'
import { countOf } from '../../parts/times.ts'
import { SyncReportView } from './sync-report.tsx'

export function SyncPage(): JSX.Element {
  const { data, failure } = useAsk('sync.remotes', {})
  const sync = useAction<SyncReport>()
  const remove = useAction<object>()
  return (
    <>
      <h1>Sync</h1>
      <Words />
      {failure !== undefined && <Failure failure={failure} />}
      {data?.remotes.length === 0 && <p>The store has no remote.</p>}
      {data !== undefined && data.remotes.length > 0 && (
        <Remotes
          remotes={data.remotes}
          isSyncing={sync.isRunning}
          onSync={(remote) => void sync.run((options) => ask('sync.run', { remote }, options))}
          onForget={(name) => void remove.run(() => ask('remotes.remove', { name }))}
        />
      )}
      <p role="status">{sync.isRunning && 'Syncing…'}</p>
      <ProgressBar progress={sync.progress} />
      {sync.failure !== undefined && <Failure failure={sync.failure} />}
      {remove.failure !== undefined && <Failure failure={remove.failure} />}
      {sync.result !== undefined && <SyncReportView report={sync.result} />}
      {mayManage.value && <AddRemote />}
    </>
  )
}

interface RemotesProps {
  readonly remotes: ResultOf<'sync.remotes'>['remotes']
  readonly isSyncing: boolean
  readonly onSync: (remote: string) => void
  readonly onForget: (remote: string) => void
}

function Remotes({ remotes, isSyncing, onSync, onForget }: RemotesProps): JSX.Element {
  const maySync = overview.value?.access === 'read_write'
  return (
    <div class="wide-list" tabIndex={0} role="region" aria-label="Remotes">
      <table class="list">
        <thead>
          <tr>
            <th scope="col">Remote</th>
            <th scope="col">Address</th>
            <th scope="col">State</th>
            <th scope="col">Do</th>
          </tr>
        </thead>
        <tbody>
          {remotes.map(({ name, url, unsent, evidence }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{url}</td>
              <td>
                {stateOf(unsent)}
                {evidence !== undefined && '; a head that was refused is kept as evidence'}
              </td>
              <td class="row-acts">
                {maySync && (
                  <button
                    type="button"
                    class="pri"
                    aria-disabled={isSyncing}
                    onClick={() => onSync(name)}
                  >
                    Sync now
                  </button>
                )}{' '}
                {mayManage.value && (
                  <button
                    type="button"
                    aria-label={`Forget the remote ${name}`}
                    onClick={() => onForget(name)}
                  >
                    Forget
                  </button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function stateOf(unsent: number | undefined): string {
  if (unsent === undefined) return 'never seen'
  return unsent === 0 ? 'has all commits' : `lacks ${countOf(unsent, 'commit')}`
}

/** Two users who read the same words to each other have the same history. */
function Words(): JSX.Element | null {
  const { headFingerprint, head } = overview.value ?? {}
  if (headFingerprint === undefined) return null
  return (
    <p>
      The twelve words of the newest commit: <b class="words">{headFingerprint.join(' ')}</b>
      <br />
      <span class="dim">
        Who reads the same words has the same history. Commit <code>{head}</code>
      </span>
    </p>
  )
}

function AddRemote(): JSX.Element {
  const [name, setName] = useState('origin')
  const [url, setUrl] = useState('')
  const { run, isRunning, failure } = useAction<object>()
  return (
    <section>
      <h2>Add a remote</h2>
      <form
        class="go"
        onSubmit={(event) => {
          event.preventDefault()
          void run(() => ask('remotes.add', { name, url: url.trim() }))
        }}
      >
        <Field label="Name" value={name} onValue={setName} isRequired />
        <Field label="Address: https, ssh or a path" value={url} onValue={setUrl} isRequired />
        <button type="submit" aria-disabled={isRunning}>
          Add
        </button>
        {failure !== undefined && <Failure failure={failure} />}
      </form>
    </section>
  )
}

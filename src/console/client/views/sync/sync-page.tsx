// Where the store is synced to, a sync with its report, and the twelve words of the head.

import { useState } from 'preact/hooks'
import type { ResultOf, SyncReport } from '../../../../operations/console/contract.ts'
import { addressOf } from '../../core/address.ts'
import { ask } from '../../core/ask.ts'
import { mayManage, notice, overview } from '../../core/state.ts'
import { useAction } from '../../core/use-action.ts'
import { useAsk } from '../../core/use-ask.ts'
import { Question } from '../../parts/dialog.tsx'
import { Field, submitting } from '../../parts/field.tsx'
import { Failure, ProgressBar } from '../../parts/labels.tsx'
import { ListTable } from '../../parts/list-table.tsx'
import { countOf, relativeTime, sizeText } from '../../parts/times.ts'

export function SyncPage() {
  const { data, failure } = useAsk('sync.remotes', {})
  const sync = useAction<SyncReport>()
  const [forgotten, forget] = useState<ListedRemote>()
  return (
    <>
      <h1>Sync</h1>
      <Words />
      <Failure failure={failure} />
      {data?.remotes.length === 0 && <p>The store has no remote.</p>}
      {data !== undefined && data.remotes.length > 0 && (
        <Remotes
          remotes={data.remotes}
          isSyncing={sync.isRunning}
          onSync={(remote) => void sync.run((options) => ask('sync.run', { remote }, options))}
          onForget={forget}
        />
      )}
      <p role="status">{sync.isRunning && 'Syncing…'}</p>
      <ProgressBar progress={sync.progress} />
      <Failure failure={sync.failure} />
      {sync.result !== undefined && <Synced report={sync.result} />}
      {mayManage.value && <AddRemote />}
      {forgotten !== undefined && (
        <ForgetDialog remote={forgotten} onClose={() => forget(undefined)} />
      )}
    </>
  )
}

type ListedRemote = ResultOf<'sync.remotes'>['remotes'][number]

interface RemotesProps {
  readonly remotes: readonly ListedRemote[]
  readonly isSyncing: boolean
  readonly onSync: (remote: string) => void
  readonly onForget: (remote: ListedRemote) => void
}

function Remotes({ remotes, isSyncing, onSync, onForget }: RemotesProps) {
  const maySync = overview.value?.access === 'read_write'
  return (
    <ListTable label="Remotes" heads={['Remote', 'Address', 'State', 'Actions']}>
      {remotes.map((remote) => {
        const { name, url, unsent, syncedAt, evidence } = remote
        return (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>{url}</td>
            <td>
              {stateOf(unsent)}
              {syncedAt !== undefined && `, synced ${relativeTime(syncedAt)}`}
              {evidence !== undefined && '; a refused head is kept as evidence'}
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
                  class="risk"
                  aria-label={`Forget the remote ${name}`}
                  onClick={() => onForget(remote)}
                >
                  Forget…
                </button>
              )}
            </td>
          </tr>
        )
      })}
    </ListTable>
  )
}

interface ForgetDialogProps {
  readonly remote: ListedRemote
  readonly onClose: () => void
}

function ForgetDialog({ remote: { name, url, unsent }, onClose }: ForgetDialogProps) {
  return (
    <Question
      title={`Forget the remote ${name}?`}
      verb="Forget it"
      isRisk
      onClose={onClose}
      onRun={async () => {
        await ask('remotes.remove', { name })
        notice.value = 'Forgotten'
        onClose()
      }}
    >
      <p>
        This device will no longer sync with <code>{url}</code>. Nothing is deleted, there or here;
        to sync again, add its address again.
      </p>
      {unsent !== undefined && unsent > 0 && (
        <p class="failure">It lacks {countOf(unsent, 'commit')} of this device.</p>
      )}
    </Question>
  )
}

function stateOf(unsent: number | undefined): string {
  if (unsent === undefined) return 'never seen'
  return unsent === 0 ? 'has all commits' : `lacks ${countOf(unsent, 'commit')}`
}

function Words() {
  const { headFingerprint, head } = overview.value ?? {}
  if (headFingerprint === undefined) return null
  return (
    <p>
      The twelve words of the newest commit: <b class="words">{headFingerprint.join(' ')}</b>
      <br />
      <span class="dim">
        Same words on two machines: same history. Commit <code>{head}</code>
      </span>
    </p>
  )
}

function AddRemote() {
  const [name, setName] = useState('')
  const [url, setUrl] = useState('')
  const { run, isRunning, failure } = useAction<object>()
  return (
    <section>
      <h2>Add a remote</h2>
      <form
        class="go"
        onSubmit={submitting(() => {
          void run(() => ask('remotes.add', { name, url: url.trim() }))
        })}
      >
        <Field label="Name" value={name} onValue={setName} isRequired />
        <Field label="Address: https, ssh or a path" value={url} onValue={setUrl} isRequired />
        <button type="submit" aria-disabled={isRunning}>
          Add
        </button>
        <Failure failure={failure} />
      </form>
    </section>
  )
}

function Synced({ report }: { readonly report: SyncReport }) {
  const facts = factsOf(report)
  return (
    <section class="banner good" role="status">
      <h2>Synced with {report.remote}</h2>
      <ul>
        <li>
          Received {countOf(report.received.commits, 'commit')}, {sizeText(report.received.bytes)};
          sent {countOf(report.sent.commits, 'commit')}, {sizeText(report.sent.bytes)}
        </li>
        {facts.map((fact) => (
          <li key={fact}>{fact}</li>
        ))}
        {report.merge !== undefined && (
          <li>
            Both histories were joined. <a href={addressOf.view('merges')}>Look at the merges</a>
          </li>
        )}
      </ul>
    </section>
  )
}

function factsOf(report: SyncReport): readonly string[] {
  const { outcomes, erased, late, newDevices, forkedDevices, settings } = report
  const facts: readonly (readonly [boolean, string])[] = [
    [outcomes.length > 0, `${countOf(outcomes.length, 'memory')} changed on both sides`],
    [erased > 0, `Erased ${countOf(erased, 'version')} that others have redacted`],
    [late.length > 0, `Left out ${countOf(late.length, 'change')}`],
    [newDevices.length > 0, `${countOf(newDevices.length, 'device')} new: look at Devices`],
    [forkedDevices.length > 0, 'A device writes from two machines: look at Devices'],
    [settings === 'replaced', 'The settings of another device are in force now'],
    [settings === 'kept', 'Another device has also changed the settings; ours are in force'],
    [report.hasRepeated, 'Changes on the abandoned line of keyrings were written again'],
    [report.builtOnRedacted.length > 0, 'Some versions may repeat a redacted text'],
    [report.pendingDevices.length > 0, 'Some devices have not confirmed a redaction'],
  ]
  return facts.filter(([holds]) => holds).map(([, fact]) => fact)
}

// The members of the store, their rights, and since when.

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { ListedDevice } from '../../../../api/console/contract.ts'
import { mayManage } from '../../core/state.ts'
import { useAsk } from '../../core/use-ask.ts'
import { Failure } from '../../parts/failure.tsx'
import { absoluteTime, countOf, relativeTime } from '../../parts/times.ts'
import { AddDialog } from './add-dialog.tsx'
import { RemoveDialog, RenameDialog, RoleDialog } from './device-dialogs.tsx'

type Question = 'role' | 'rename' | 'remove'

interface Asked {
  readonly question: Question
  readonly device: ListedDevice
}

export function DevicesPage(): JSX.Element {
  const { data, failure } = useAsk('devices.list', {})
  const [isAdding, setAdding] = useState(false)
  const [asked, setAsked] = useState<Asked>()
  const close = (): void => setAsked(undefined)
  return (
    <>
      <div class="crumbs">
        <h1>Devices</h1>
        {mayManage.value && (
          <div class="acts">
            <button type="button" class="pri" onClick={() => setAdding(true)}>
              Add a device…
            </button>
          </div>
        )}
      </div>
      {failure !== undefined && <Failure failure={failure} />}
      {data === undefined && failure === undefined && <p role="status">Reading…</p>}
      {data !== undefined && (
        <div class="wide-list" tabIndex={0} role="region" aria-label="Devices">
          <table class="list">
            <thead>
              <tr>
                <th scope="col">Device</th>
                <th scope="col">Role</th>
                <th scope="col">Added</th>
                <th scope="col">Wrote last</th>
                <th scope="col">Change</th>
              </tr>
            </thead>
            <tbody>
              {data.devices.map((device) => (
                <Row
                  key={device.deviceId}
                  device={device}
                  onAsk={(question) => setAsked({ question, device })}
                />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {isAdding && <AddDialog onClose={() => setAdding(false)} />}
      {asked?.question === 'role' && <RoleDialog device={asked.device} onClose={close} />}
      {asked?.question === 'rename' && <RenameDialog device={asked.device} onClose={close} />}
      {asked?.question === 'remove' && <RemoveDialog device={asked.device} onClose={close} />}
    </>
  )
}

interface RowProps {
  readonly device: ListedDevice
  readonly onAsk: (question: Question) => void
}

function Row({ device, onAsk }: RowProps): JSX.Element {
  const { deviceId, name, role, added, removed, lastRecord, isThis, isForked } = device
  const open = device.unacknowledged?.length ?? 0
  return (
    <tr class={removed === undefined ? undefined : 'gone'}>
      <th scope="row">
        {name === '' ? 'no name' : name} {isThis && <span class="tag">this device</span>}
        {isForked === true && <span class="tag">cloned: it can no longer write</span>}
        <br />
        <code class="dim">{deviceId}</code>
      </th>
      <td>
        {removed === undefined ? role : `removed ${absoluteTime(removed.time)}, was ${role}`}
        {open > 0 && (
          <>
            <br />
            <span class="dim">has not shown that it erased {countOf(open, 'redaction')}</span>
          </>
        )}
      </td>
      <td>{absoluteTime(added.time)}</td>
      <td>{lastRecord === undefined ? 'nothing' : relativeTime(lastRecord)}</td>
      <td class="row-acts">
        {mayManage.value && removed === undefined && (
          <>
            <button type="button" onClick={() => onAsk('role')}>
              Role…
            </button>{' '}
            <button type="button" onClick={() => onAsk('rename')}>
              Name…
            </button>{' '}
            {!isThis && (
              <button type="button" onClick={() => onAsk('remove')}>
                Remove…
              </button>
            )}
          </>
        )}
      </td>
    </tr>
  )
}

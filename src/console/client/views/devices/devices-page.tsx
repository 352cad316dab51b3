// The members of the store, their rights, and since when.

import { useState } from 'preact/hooks'
import type { ListedDevice } from '../../../../operations/console/contract.ts'
import { mayManage } from '../../core/state.ts'
import { useAsk } from '../../core/use-ask.ts'
import { Heading, Pending } from '../../parts/labels.tsx'
import { ListTable } from '../../parts/list-table.tsx'
import { absoluteTime, countOf, relativeTime } from '../../parts/times.ts'
import { AddDialog, RemoveDialog, RenameDialog, RoleDialog } from './device-dialogs.tsx'

type DeviceQuestion = 'role' | 'rename' | 'remove'

export function DevicesPage() {
  const { data, failure } = useAsk('devices.list', {})
  const [isAdding, setAdding] = useState(false)
  const [asked, setAsked] = useState<{
    readonly question: DeviceQuestion
    readonly device: ListedDevice
  }>()
  const close = (): void => setAsked(undefined)
  return (
    <>
      <Heading title="Devices">
        {mayManage.value && (
          <button type="button" class="pri" onClick={() => setAdding(true)}>
            Add a device…
          </button>
        )}
      </Heading>
      {data === undefined && <Pending failure={failure} />}
      {data !== undefined && (
        <ListTable label="Devices" heads={['Device', 'Role', 'Added', 'Wrote last', 'Change']}>
          {data.devices.map((device) => (
            <Row
              key={device.deviceId}
              device={device}
              onAsk={(question) => setAsked({ question, device })}
            />
          ))}
        </ListTable>
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
  readonly onAsk: (question: DeviceQuestion) => void
}

function Row({ device, onAsk }: RowProps) {
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
            <span class="dim">{countOf(open, 'redaction')} not confirmed</span>
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

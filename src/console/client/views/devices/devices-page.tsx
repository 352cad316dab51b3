// The members of the store, their rights, and since when.

import { useId, useState } from 'preact/hooks'
import type {
  InputOf,
  ListedDevice,
  ResultOf,
  Role,
} from '../../../../operations/console/contract.ts'
import { ask } from '../../core/ask.ts'
import { mayManage, notice } from '../../core/state.ts'
import { useAsk } from '../../core/use-ask.ts'
import { Dialog, Question } from '../../parts/dialog.tsx'
import { Check, Choice, Field } from '../../parts/field.tsx'
import { Heading, Pending } from '../../parts/labels.tsx'
import { ListTable } from '../../parts/list-table.tsx'
import { absoluteTime, countOf, relativeTime } from '../../parts/times.ts'

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
        <ListTable label="Devices" heads={['Device', 'Role', 'Added', 'Wrote last', 'Actions']}>
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
              <button type="button" class="risk" onClick={() => onAsk('remove')}>
                Remove…
              </button>
            )}
          </>
        )}
      </td>
    </tr>
  )
}

const roles: readonly (readonly [Role, string])[] = [
  ['owner', 'owner: everything'],
  ['writer', 'writer: reads and writes memories'],
  ['reader', 'reader: reads memories'],
  ['auditor', 'auditor: sees who did what and when, but no contents'],
]

/**
 * A card may arrive over an untrusted channel: the user types the fingerprint from the screen of
 * the machine itself.
 */
function AddDialog({ onClose }: { readonly onClose: () => void }) {
  const [card, setCard] = useState('')
  const [fingerprint, setFingerprint] = useState('')
  const [role, setRole] = useState<Role>('writer')
  const id = useId()
  return (
    <Question
      title="Add a device"
      verb="Add"
      onClose={onClose}
      onRun={async () => {
        const input = { card, role, fingerprint: fingerprint.trim() }
        noteReached('Added', await ask('devices.add', input))
        onClose()
      }}
    >
      <p>
        Run <code>gitlocket device card</code> on that machine: it prints its card and its
        fingerprint.
      </p>
      <p>
        <label for={id}>Its card</label>
        <textarea
          autocomplete="off"
          id={id}
          rows={6}
          value={card}
          required
          onInput={({ currentTarget }) => setCard(currentTarget.value)}
        />
      </p>
      <p>
        <Field
          label="Its fingerprint, dev_…, as that machine shows it"
          value={fingerprint}
          onValue={setFingerprint}
          isRequired
        />
      </p>
      <p>
        <Choice label="Role" value={role} options={roles} onChoose={setRole} />
      </p>
    </Question>
  )
}

interface DeviceDialogProps {
  readonly device: ListedDevice
  readonly onClose: () => void
}

function RoleDialog({ device, onClose }: DeviceDialogProps) {
  const { deviceId } = device
  const [role, setRole] = useState<Role>(device.role)
  return (
    <Question
      title={`Role of ${nameOf(device)}`}
      verb="Change the role"
      onClose={onClose}
      onRun={async () => {
        noteReached('Changed', await ask('devices.changeRole', { deviceId, role }))
        onClose()
      }}
    >
      <p>
        <Choice label="Role" value={role} options={roles} onChoose={setRole} />
      </p>
      <p>
        Changes that it writes before it learns of a lesser role are left out, and listed. If you no
        longer trust it, remove it.
      </p>
      {role !== device.role && <EndingGrants input={{ deviceId, role }} />}
    </Question>
  )
}

/** The grants that a change of a device ends, before it is made. */
function EndingGrants({ input }: { readonly input: InputOf<'devices.endsGrants'> }) {
  const { data } = useAsk('devices.endsGrants', input)
  if (data === undefined || data.grants.length === 0) return undefined
  return (
    <>
      <p>This ends {countOf(data.grants.length, 'grant')} that it has given, for good:</p>
      <ul>
        {data.grants.map(({ grantId, label, role, expiresAt }) => (
          <li key={grantId}>
            {label} <code>{grantId}</code> as {role}, until {absoluteTime(expiresAt)}
          </li>
        ))}
      </ul>
    </>
  )
}

function RenameDialog({ device, onClose }: DeviceDialogProps) {
  const { deviceId } = device
  const [name, setName] = useState(device.name)
  return (
    <Question
      title={`Name of ${nameOf(device)}`}
      verb="Change the name"
      onClose={onClose}
      onRun={async () => {
        noteReached('Renamed', await ask('devices.rename', { deviceId, name }))
        onClose()
      }}
    >
      <p>
        <Field label="Name, for people: it proves nothing" value={name} onValue={setName} />
      </p>
    </Question>
  )
}

type Removed = ResultOf<'devices.remove'>

function RemoveDialog({ device, onClose }: DeviceDialogProps) {
  const { deviceId } = device
  const [passphrase, setPassphrase] = useState('')
  const [recoveryKey, setRecoveryKey] = useState(false)
  const [removed, setRemoved] = useState<Removed>()
  if (removed !== undefined) return <AfterRemoval removed={removed} onClose={onClose} />
  const replaced = {
    ...(passphrase !== '' && { passphrase }),
    ...(recoveryKey && { recoveryKey }),
  }
  return (
    <Question
      title={`Remove ${nameOf(device)}?`}
      verb="Remove it"
      isRisk
      onClose={onClose}
      onRun={async () => {
        const result = await ask('devices.remove', { deviceIds: [deviceId], ...replaced })
        setRemoved(result)
        noteReached('Removed', result)
      }}
    >
      <p>
        A removed device never returns. It cannot read anything written from now on, and keeps what
        it already has.
      </p>
      <EndingGrants input={{ deviceId }} />
      <p>
        <Field
          type="password"
          label="A new passphrase, if the store has one that its user may know"
          value={passphrase}
          onValue={setPassphrase}
        />
      </p>
      <p>
        <Check
          class="check"
          label="Replace all recovery keys by a new one"
          isOn={recoveryKey}
          onTurn={setRecoveryKey}
        />
      </p>
    </Question>
  )
}

interface AfterRemovalProps {
  readonly removed: Removed
  readonly onClose: () => void
}

function AfterRemoval({ removed, onClose }: AfterRemovalProps) {
  const { recoveryKey, knownSecrets } = removed
  return (
    <Dialog title="Removed" onClose={onClose}>
      {knownSecrets.length > 0 && (
        <p>
          Its user may know the {knownSecrets.join(' and the ')}, with which a new device joins:
          replace that.
        </p>
      )}
      {recoveryKey !== undefined && (
        <>
          <p>
            The recovery key, shown this once. Write it down and keep it away from this machine:
          </p>
          <p>
            <code>{recoveryKey}</code>
          </p>
        </>
      )}
      <p class="go">
        <button type="button" class="pri" onClick={onClose}>
          Close
        </button>
      </p>
    </Dialog>
  )
}

function nameOf({ name, deviceId }: ListedDevice): string {
  return name === '' ? deviceId : name
}

/** `done` describes the change, with a capital and without a full stop. */
function noteReached(
  done: string,
  { pending }: Pick<ResultOf<'devices.changeRole'>, 'pending'>,
): void {
  notice.value =
    pending === undefined
      ? done
      : `${done} here. The next sync shows whether the remote has it: ${pending}`
}

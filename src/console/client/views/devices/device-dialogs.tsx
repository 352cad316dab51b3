// Changes of one device, each after a question.

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { ListedDevice, ResultOf, Role } from '../../../../api/console/contract.ts'
import { ask } from '../../core/ask.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Choice, Field } from '../../parts/field.tsx'
import { Question } from '../../parts/question.tsx'
import { noteReached } from './reached.ts'
import { roles } from './roles.ts'

interface DeviceDialogProps {
  readonly device: ListedDevice
  readonly onClose: () => void
}

export function RoleDialog({ device, onClose }: DeviceDialogProps): JSX.Element {
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
        What it writes before it learns that it may only read is left out, and listed. If it is not
        trusted any more, remove it.
      </p>
    </Question>
  )
}

export function RenameDialog({ device, onClose }: DeviceDialogProps): JSX.Element {
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

export function RemoveDialog({ device, onClose }: DeviceDialogProps): JSX.Element {
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
      onClose={onClose}
      onRun={async () => {
        const result = await ask('devices.remove', { deviceIds: [deviceId], ...replaced })
        setRemoved(result)
        noteReached('Removed', result)
      }}
    >
      <p>
        A removed device never returns. It opens nothing that is written from now on; what it has
        already, it keeps.
      </p>
      <p>
        <Field
          type="password"
          label="A new passphrase, if the store has one that its user may know"
          value={passphrase}
          onValue={setPassphrase}
        />
      </p>
      <p>
        <label class="check">
          <input
            type="checkbox"
            checked={recoveryKey}
            onChange={({ currentTarget }) => setRecoveryKey(currentTarget.checked)}
          />{' '}
          Make a new recovery key in place of those that there are
        </label>
      </p>
    </Question>
  )
}

interface AfterRemovalProps {
  readonly removed: Removed
  readonly onClose: () => void
}

function AfterRemoval({ removed, onClose }: AfterRemovalProps): JSX.Element {
  const { recoveryKey, knownSecrets } = removed
  return (
    <Dialog title="Removed" onClose={onClose}>
      {knownSecrets.length > 0 && (
        <p>
          Whoever used it may know the {knownSecrets.join(' and the ')}, with which a new device
          joins: replace that.
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

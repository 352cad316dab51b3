// Adds, changes and removes devices, each after a question.

import { useId, useState } from 'preact/hooks'
import type { ListedDevice, ResultOf, Role } from '../../../../operations/console/contract.ts'
import { ask } from '../../core/ask.ts'
import { notice } from '../../core/state.ts'
import { Dialog, Question } from '../../parts/dialog.tsx'
import { Check, Choice, Field } from '../../parts/field.tsx'

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
export function AddDialog({ onClose }: { readonly onClose: () => void }) {
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

export function RoleDialog({ device, onClose }: DeviceDialogProps) {
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
    </Question>
  )
}

export function RenameDialog({ device, onClose }: DeviceDialogProps) {
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

export function RemoveDialog({ device, onClose }: DeviceDialogProps) {
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
        A removed device never returns. It cannot read anything written from now on, and keeps what
        it already has.
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

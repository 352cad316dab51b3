// Adds a device by its card. A card may arrive over an untrusted channel: the user types the
// fingerprint from the screen of the machine itself.

import type { JSX } from 'preact'
import { useId, useState } from 'preact/hooks'
import type { Role } from '../../../../api/console/contract.ts'
import { ask } from '../../core/ask.ts'
import { Choice, Field } from '../../parts/field.tsx'
import { Question } from '../../parts/question.tsx'
import { noteReached } from './reached.ts'
import { roles } from './roles.ts'

export function AddDialog({ onClose }: { readonly onClose: () => void }): JSX.Element {
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

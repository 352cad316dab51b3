// Step 1: which versions. All that is given must hold.

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Selection } from '../../../../api/console/contract.ts'
import { Field } from '../../parts/field.tsx'

interface ChooseStepProps {
  readonly begin: Selection
  readonly isAsking: boolean
  readonly onLook: (select: Selection) => void
  readonly onProof: () => void
}

interface Typed {
  readonly versions: string
  readonly memoryId: string
  readonly path: string
  readonly session: string
  readonly actorId: string
  readonly text: string
  readonly regex: boolean
  readonly withCopies: boolean
}

const fields = [
  ['text', 'Text that occurs in it'],
  ['path', 'At or below the path'],
  ['session', 'Session'],
  ['actorId', 'Actor'],
  ['memoryId', 'Memory, mem_…'],
  ['versions', 'Versions, memver_…'],
] as const

export function ChooseStep({ begin, isAsking, onLook, onProof }: ChooseStepProps): JSX.Element {
  const [typed, setTyped] = useState<Typed>({
    versions: begin.versionIds?.join(' ') ?? '',
    memoryId: begin.memoryId ?? '',
    path: '',
    session: '',
    actorId: '',
    text: '',
    regex: false,
    withCopies: true,
  })
  const select = selectionOf(typed)
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        if (select !== undefined && !isAsking) onLook(select)
      }}
    >
      <p>
        Choose what is to be erased from the whole history. All that is given must hold. Nothing
        happens in this step.
      </p>
      <div class="form">
        {fields.map(([name, label]) => (
          <Field
            key={name}
            label={label}
            value={typed[name]}
            onValue={(value) => setTyped({ ...typed, [name]: value })}
          />
        ))}
      </div>
      <p>
        <Check
          label="The text is a regular expression"
          isOn={typed.regex}
          onSet={(regex) => setTyped({ ...typed, regex })}
        />
        <Check
          label="Copies of it too: the same text elsewhere, and what was written on it"
          isOn={typed.withCopies}
          onSet={(withCopies) => setTyped({ ...typed, withCopies })}
        />
      </p>
      <div class="go">
        <button type="button" onClick={onProof}>
          Proof of earlier redactions
        </button>
        <span class="sp" />
        <button type="submit" class="pri" aria-disabled={select === undefined || isAsking}>
          {isAsking ? 'Looking…' : 'Look at what goes'}
        </button>
      </div>
    </form>
  )
}

interface CheckProps {
  readonly label: string
  readonly isOn: boolean
  readonly onSet: (isOn: boolean) => void
}

function Check({ label, isOn, onSet }: CheckProps): JSX.Element {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={isOn}
        onChange={({ currentTarget }) => onSet(currentTarget.checked)}
      />{' '}
      {label}
    </label>
  )
}

/** Undefined while nothing is chosen. */
function selectionOf(typed: Typed): Selection | undefined {
  const versionIds = typed.versions.split(/[\s,]+/).filter((id) => id !== '')
  const given = Object.fromEntries(
    (['memoryId', 'path', 'session', 'actorId', 'text'] as const)
      // A text may begin or end with a blank.
      .map((name) => [name, name === 'text' ? typed[name] : typed[name].trim()])
      .filter(([, value]) => value !== ''),
  )
  if (versionIds.length === 0 && Object.keys(given).length === 0) return undefined
  return {
    ...given,
    ...(versionIds.length > 0 && { versionIds }),
    ...(typed.regex && typed.text !== '' && { regex: true }),
    withCopies: typed.withCopies,
  }
}

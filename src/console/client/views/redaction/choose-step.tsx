// Step 1: the versions to erase, which must match all given fields.

import { useState } from 'preact/hooks'
import type { Selection } from '../../../../operations/console/contract.ts'
import { Check, Field, submitting } from '../../parts/field.tsx'

interface ChooseStepProps {
  readonly begin: Selection
  readonly isAsking: boolean
  readonly onLook: (select: Selection) => void
  readonly onProof: () => void
}

const fields = [
  ['text', 'Contains the text'],
  ['path', 'At or below the path'],
  ['session', 'Session'],
  ['actorId', 'Actor'],
  ['memoryId', 'Memory, mem_…'],
  ['versions', 'Versions, memver_…'],
] as const

const texts = { versions: '', memoryId: '', path: '', session: '', actorId: '', text: '' }
const empty = { ...texts, regex: false, withCopies: true }

export function ChooseStep({ begin, isAsking, onLook, onProof }: ChooseStepProps) {
  const [typed, setTyped] = useState({
    ...empty,
    versions: begin.versionIds?.join(' ') ?? '',
    memoryId: begin.memoryId ?? '',
  })
  const select = selectionOf(typed)
  return (
    <form
      onSubmit={submitting(() => {
        if (select !== undefined && !isAsking) onLook(select)
      })}
    >
      <p>
        Choose what to erase from the whole history. A version must match every field that you fill
        in. Nothing is erased in this step.
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
          class="check"
          label="The text is a regular expression"
          isOn={typed.regex}
          onTurn={(regex) => setTyped({ ...typed, regex })}
        />
        <Check
          class="check"
          label="Include copies: the same text elsewhere, and later edits of it"
          isOn={typed.withCopies}
          onTurn={(withCopies) => setTyped({ ...typed, withCopies })}
        />
      </p>
      <div class="go">
        <button type="button" onClick={onProof}>
          Proof of earlier redactions
        </button>
        <span class="sp" />
        <button type="submit" class="pri" aria-disabled={select === undefined || isAsking}>
          {isAsking ? 'Searching…' : 'Review what will be erased'}
        </button>
      </div>
    </form>
  )
}

/** Undefined while nothing is chosen. */
function selectionOf(typed: typeof empty): Selection | undefined {
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

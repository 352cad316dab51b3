// Step 3, the last before anything is erased. The number is typed, so that no one erases by habit.

import { useState } from 'preact/hooks'
import type {
  EraseResult,
  EraseInput,
  ErasePlan,
  Selection,
  WayOut,
} from '../../../../operations/console/contract.ts'
import { ask } from '../../core/ask.ts'
import { useAction } from '../../core/use-action.ts'
import { Choice, Field, submitting } from '../../parts/field.tsx'
import { Failure, ProgressBar } from '../../parts/labels.tsx'
import { countOf } from '../../parts/times.ts'

interface EraseStepProps {
  readonly select: Selection
  readonly plan: ErasePlan
  readonly onBack: () => void
  readonly onErased: (erased: EraseResult) => void
}

type Why = EraseInput['why']

const reasons: readonly (readonly [Why, string])[] = [
  ['unspecified', 'unspecified'],
  ['leaked_secret', 'leaked secret'],
  ['personal_data', 'personal data'],
  ['legal', 'legal reasons'],
  ['poisoned', 'poisoned memory'],
  ['retention', 'expired'],
]

const ways: readonly (readonly [WayOut, string])[] = [
  ['delete', 'delete these memories'],
  ['overwrite', 'overwrite them with a text without it'],
  ['keep', 'keep these versions: they are not erased'],
]

export function EraseStep({ select, plan, onBack, onErased }: EraseStepProps) {
  const [why, setWhy] = useState<Why>('unspecified')
  const [current, setCurrent] = useState<WayOut>('delete')
  const [typed, setTyped] = useState('')
  const { run, isRunning, progress, failure } = useAction<EraseResult>()
  const hasCurrent = plan.current.length > 0
  const kept = new Set(hasCurrent && current === 'keep' ? plan.current.map(idOf) : [])
  const confirmed = plan.versions.map(idOf).filter((id) => !kept.has(id))
  const isReady = typed.trim() === String(confirmed.length) && confirmed.length > 0 && !isRunning
  const erase = async (): Promise<void> => {
    const way = hasCurrent ? { current } : {}
    const input = { select, why, confirmed, ...way }
    const erased = await run((options) => ask('redaction.run', input, options))
    if (erased !== undefined) onErased(erased)
  }
  return (
    <form
      onSubmit={submitting(() => {
        if (isReady) void erase()
      })}
    >
      <p>
        <Choice label="Why" value={why} options={reasons} onChoose={setWhy} />
      </p>
      {hasCurrent && (
        <p>
          <Choice
            label={`${countOf(plan.current.length, 'version')} of them in use now`}
            value={current}
            options={ways}
            onChoose={setCurrent}
          />
        </p>
      )}
      <p>
        Erasing <b>{countOf(confirmed.length, 'version')}</b> cannot be undone.
      </p>
      <div class="go">
        <Field
          label={`Type ${confirmed.length} to erase`}
          value={typed}
          onValue={setTyped}
          autoFocus
        />
        <button type="button" onClick={onBack}>
          Back
        </button>
        <span class="sp" />
        <button type="submit" class="danger" aria-disabled={!isReady}>
          {isRunning ? 'Erasing…' : `Erase ${countOf(confirmed.length, 'version')}`}
        </button>
        <ProgressBar progress={progress} />
        <Failure failure={failure} />
      </div>
    </form>
  )
}

function idOf({ versionId }: { readonly versionId: string }): string {
  return versionId
}

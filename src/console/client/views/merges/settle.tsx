// Settles a merge of clones: one choice, shown as a difference to the present text before anything
// is written. To leave the memory as it is only notes that the merge was reviewed.

import { useState } from 'preact/hooks'
import type { MergeView } from '../../../../operations/console/contract.ts'
import { ask } from '../../core/ask.ts'
import { mayWrite, notice } from '../../core/state.ts'
import { useAction } from '../../core/use-action.ts'
import { DiffTable } from '../../parts/diff-table.tsx'
import { submitting } from '../../parts/field.tsx'
import { Failure } from '../../parts/labels.tsx'
import { EditMemory } from '../review/parts.tsx'

interface SettleProps {
  readonly view: MergeView
  readonly onDone: () => void
}

type Keep = 'both' | 'ours' | 'theirs'
type Settling = NonNullable<MergeView['settling']>

export function Settle({ view, onDone }: SettleProps) {
  const { merge, settling } = view
  const [keep, choose] = useState<Keep>('both')
  const { run, isRunning, failure } = useAction<void>()
  if (settling === undefined || !mayWrite.value) return null
  const side = keep === 'both' ? undefined : settling[keep]
  const settle = async (): Promise<void> => {
    const { versionId } = merge
    if (keep === 'both') await ask('merges.looked', { versionIds: [versionId] })
    else {
      const expectedSha256 = settling.sha256
      await ask('merges.settle', { versionId, choice: { keep }, expectedSha256 })
    }
    notice.value = 'Settled'
    onDone()
  }
  return (
    <form class="settle" onSubmit={submitting(() => void run(settle))}>
      <fieldset>
        <legend>What should the memory say?</legend>
        {choicesOf(settling, merge.combination).map(([name, label, isRefused]) => (
          <label key={name}>
            <input
              type="radio"
              name={`settle ${merge.versionId}`}
              checked={keep === name}
              disabled={isRefused}
              onChange={() => choose(name)}
            />{' '}
            {label}
            {isRefused && <span class="dim"> (edited since: edit it instead)</span>}
          </label>
        ))}
      </fieldset>
      {side?.text !== undefined && (
        <DiffTable
          before={settling.content}
          after={side.text.content}
          label="The memory now and then"
        />
      )}
      <Failure failure={failure} />
      <p class="acts">
        <button type="submit" class="pri" aria-disabled={isRunning}>
          {keep === 'both' ? 'Keep as it is' : 'Settle'}
        </button>
        <EditMemory memory={{ memoryId: merge.memoryId, path: settling.path }} />
      </p>
    </form>
  )
}

function choicesOf(
  { ours, theirs }: Settling,
  combination: MergeView['merge']['combination'],
): readonly (readonly [Keep, string, boolean])[] {
  const now = combination === 'combined' ? 'Both, as it is now' : 'As it is now'
  return [
    ['both', now, false],
    ...(ours === undefined ? [] : [['ours', sideName(ours), ours.text === undefined] as const]),
    ...(theirs === undefined
      ? []
      : [['theirs', sideName(theirs), theirs.text === undefined] as const]),
  ]
}

function sideName({ deviceName, isThisDevice, text }: NonNullable<Settling['ours']>): string {
  const whose = isThisDevice ? 'this device' : 'the other device'
  const name = deviceName === '' ? whose : deviceName
  const isDeleted = text !== undefined && text.content === undefined
  return isDeleted ? `Delete it, as ${name} did` : `Only the lines of ${name}`
}

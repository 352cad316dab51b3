// The second step: every place with the rest veiled, what becomes of memories that hold the text
// now, the reason, and the number to type, so that no one erases by habit.

import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type {
  EraseInput,
  ErasePlan,
  EraseResult,
  Selection,
  WayOut,
} from '../../../../operations/console/contract.ts'
import { ask } from '../../core/ask.ts'
import { mayManage } from '../../core/state.ts'
import { useAction } from '../../core/use-action.ts'
import { Choice, Field, submitting } from '../../parts/field.tsx'
import { Failure, ProgressBar } from '../../parts/labels.tsx'
import { Slices } from '../../parts/pager.tsx'
import { countOf } from '../../parts/times.ts'
import { FirstVersions, VersionTable } from './found-versions.tsx'

interface ReviewStepProps {
  readonly select: Selection
  readonly plan: ErasePlan
  readonly onBack: () => void
  /** The redaction; undefined if there was nothing to erase. */
  readonly onErased: (redaction: string | undefined) => void
}

export function ReviewStep(props: ReviewStepProps) {
  const { select, plan, onBack } = props
  const { versions, current, already, sameText, builtOn, rewritten, commits } = plan
  const found = (
    <>
      <p role="status">
        <b>{countOf(versions.length, 'version')}</b> would be erased as a whole: text, path, size
        and reason. Author, time and signature remain. {countOf(rewritten, 'commit')} of{' '}
        {commits.toLocaleString()} would be rewritten, at most.
        {already > 0 && ` ${already} of the chosen ones are already erased.`} Nothing has happened
        yet.
      </p>
      <div class="cards">
        <Card title="Versions to erase" isShown={versions.length > 0}>
          <Slices label="Versions to erase" rows={versions}>
            {(rows) => <VersionTable label="Versions to erase" select={select} versions={rows} />}
          </Slices>
        </Card>
        <Card title="The same text elsewhere, not chosen" isShown={sameText.length > 0} isWarning>
          <FirstVersions label="The same text" select={select} versions={sameText} />
        </Card>
        <Card title="Written on these, and may repeat them" isShown={builtOn.length > 0} isWarning>
          <FirstVersions label="Written on these" select={select} versions={builtOn} />
        </Card>
        <Reach plan={plan} />
      </div>
      {current.length === 0 && versions.length === 0 && <p>Nothing holds it.</p>}
    </>
  )
  if (mayManage.value) return <EraseForm {...props}>{found}</EraseForm>
  return (
    <>
      {found}
      <p class="go">
        <button type="button" onClick={onBack}>
          Back
        </button>
        This console cannot erase: an owner can.
      </p>
    </>
  )
}

type Why = EraseInput['why']

const reasons: readonly (readonly [Why | '', string])[] = [
  ['', 'Choose a reason'],
  ['leaked_secret', 'leaked secret'],
  ['personal_data', 'personal data'],
  ['legal', 'legal reasons'],
  ['poisoned', 'poisoned memory'],
  ['retention', 'expired'],
  ['unspecified', 'another reason'],
]

/** Replacing comes first: it is what someone who pastes a text expects. */
function waysOf(hasText: boolean): readonly (readonly [WayOut, string])[] {
  return [
    [
      'overwrite',
      hasText
        ? 'Replace just this text with [redacted], and keep the rest of the memory'
        : 'Replace the whole text with [redacted]',
    ],
    ['delete', 'Delete the memory'],
    ['keep', 'Leave the current version as it is: it is not erased'],
  ]
}

interface EraseFormProps extends ReviewStepProps {
  /** The report of the plan, inside the form, so that its footer is always in view. */
  readonly children: ComponentChildren
}

function EraseForm({ select, plan, onBack, onErased, children }: EraseFormProps) {
  const [why, setWhy] = useState<Why | ''>('')
  const [way, setWay] = useState<WayOut>('overwrite')
  const [typed, setTyped] = useState('')
  const { run, isRunning, progress, failure } = useAction<EraseResult>()
  const hasCurrent = plan.current.length > 0
  const kept = new Set(hasCurrent && way === 'keep' ? plan.current.map(idOf) : [])
  const confirmed = plan.versions.map(idOf).filter((id) => !kept.has(id))
  const count = confirmed.length
  const isReady = typed.trim() === String(count) && count > 0 && why !== '' && !isRunning
  const erase = async (): Promise<void> => {
    if (why === '') return
    const current = hasCurrent ? { current: way } : {}
    const input = { select, why, confirmed, ...current }
    const erased = await run((options) => ask('redaction.run', input, options))
    if (erased !== undefined) onErased(erased.redaction)
  }
  return (
    <form
      onSubmit={submitting(() => {
        if (isReady) void erase()
      })}
    >
      {children}
      {hasCurrent && (
        <Ways
          count={plan.current.length}
          way={way}
          hasText={select.text !== undefined}
          onWay={setWay}
        />
      )}
      <div class="go at-foot">
        <button type="button" onClick={onBack}>
          Back
        </button>
        <Choice label="Why" value={why} options={reasons} onChoose={setWhy} />
        <Field label={`Type ${count} to erase`} value={typed} onValue={setTyped} />
        <span class="sp" />
        <button type="submit" class="danger" aria-disabled={!isReady}>
          {isRunning ? 'Erasing…' : `Erase ${countOf(count, 'version')} for good`}
        </button>
        <ProgressBar progress={progress} />
        <Failure failure={failure} />
      </div>
    </form>
  )
}

interface WaysProps {
  readonly count: number
  readonly way: WayOut
  readonly hasText: boolean
  readonly onWay: (way: WayOut) => void
}

function Ways({ count, way, hasText, onWay }: WaysProps) {
  return (
    <fieldset class="ways">
      <legend>
        {countOf(count, 'memory')} {count === 1 ? 'holds' : 'hold'} it now
      </legend>
      {waysOf(hasText).map(([name, label]) => (
        <label key={name}>
          <input type="radio" name="way" checked={way === name} onChange={() => onWay(name)} />{' '}
          {label}
        </label>
      ))}
    </fieldset>
  )
}

function idOf({ versionId }: { readonly versionId: string }): string {
  return versionId
}

function Reach({ plan: { pendingDevices, remotes } }: { readonly plan: ErasePlan }) {
  return (
    <Card title="What it cannot reach" isShown>
      <ul>
        {pendingDevices.map(({ deviceId, name, role }) => (
          <li key={deviceId}>
            {name === '' ? deviceId : name}, {role}: holds it until it syncs
          </li>
        ))}
        {remotes.map((name) => (
          <li key={name}>the host of {name}: holds it until it collects its garbage</li>
        ))}
        <li>backups, and copies that people made: revoke a leaked key in any case</li>
      </ul>
    </Card>
  )
}

interface CardProps {
  readonly title: string
  readonly isShown: boolean
  readonly isWarning?: boolean
  readonly children: ComponentChildren
}

function Card({ title, isShown, isWarning = false, children }: CardProps) {
  if (!isShown) return null
  return (
    <section class={isWarning ? 'warn' : undefined}>
      <h2>{title}</h2>
      {children}
    </section>
  )
}

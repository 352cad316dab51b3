// Erasing in four steps: choose, look, type the number to erase, proof. The first two are here, the
// others in erase-step.tsx. The selection is in RAM alone; the address may name a memory or a
// version to begin with.

import type { ComponentChildren } from 'preact'
import { useLocation } from 'preact-iso'
import { useState } from 'preact/hooks'
import type { ErasePlan, EraseResult, Selection } from '../../../../operations/console/contract.ts'
import type { Version } from '../../../../store/history/versions.ts'
import { ask } from '../../core/ask.ts'
import { mayManage } from '../../core/state.ts'
import { useAction } from '../../core/use-action.ts'
import { useAsk } from '../../core/use-ask.ts'
import { Check, Field, submitting } from '../../parts/field.tsx'
import { Failure, ProgressBar, writerOf } from '../../parts/labels.tsx'
import { ListTable } from '../../parts/list-table.tsx'
import { Slices } from '../../parts/pager.tsx'
import { absoluteTime, countOf } from '../../parts/times.ts'
import { EraseStep, ProofStep } from './erase-step.tsx'

const steps = ['Choose', 'Look', 'Erase', 'Proof'] as const

type Stage =
  | { readonly step: 0 }
  | { readonly step: 1 | 2; readonly select: Selection; readonly plan: ErasePlan }
  | { readonly step: 3; readonly erased: EraseResult | undefined }

export function RedactionPage() {
  const { query } = useLocation()
  const { memory, version } = query
  const [stage, setStage] = useState<Stage>({ step: 0 })
  const { run, isRunning, progress, failure } = useAction<ErasePlan>()
  const look = async (select: Selection): Promise<void> => {
    const plan = await run((options) => ask('redaction.plan', { select }, options))
    if (plan !== undefined) setStage({ step: 1, select, plan })
  }
  const begin = { ...(memory && { memoryId: memory }), ...(version && { versionIds: [version] }) }
  return (
    <>
      <h1>Redaction</h1>
      <ol class="steps" aria-label="Steps">
        {steps.map((name, index) => (
          <li
            key={name}
            class={index < stage.step ? 'done' : index === stage.step ? 'cur' : undefined}
            aria-current={index === stage.step ? 'step' : undefined}
          >
            {index + 1} {name}
          </li>
        ))}
      </ol>
      {stage.step === 0 && (
        <>
          <ChooseStep
            begin={begin}
            isAsking={isRunning}
            onLook={(select) => void look(select)}
            onProof={() => setStage({ step: 3, erased: undefined })}
          />
          <ProgressBar progress={progress} />
          <Failure failure={failure} />
        </>
      )}
      {stage.step === 1 && (
        <LookStep
          plan={stage.plan}
          onBack={() => setStage({ step: 0 })}
          onNext={mayManage.value ? () => setStage({ ...stage, step: 2 }) : undefined}
        />
      )}
      {stage.step === 2 && (
        <EraseStep
          select={stage.select}
          plan={stage.plan}
          onBack={() => setStage({ ...stage, step: 1 })}
          onErased={(erased) => setStage({ step: 3, erased })}
        />
      )}
      {stage.step === 3 && (
        <ProofStep erased={stage.erased} onAgain={() => setStage({ step: 0 })} />
      )}
    </>
  )
}

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

function ChooseStep({ begin, isAsking, onLook, onProof }: ChooseStepProps) {
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

interface LookStepProps {
  readonly plan: ErasePlan
  readonly onBack: () => void
  /** Undefined for a user who may not erase. */
  readonly onNext: (() => void) | undefined
}

function LookStep({ plan, onBack, onNext }: LookStepProps) {
  const { versions, current, already, sameText, builtOn, rewritten, commits } = plan
  return (
    <>
      <p role="status">
        <b>{countOf(versions.length, 'version')}</b> would be erased: text, path, size and reason.
        Author, time and signature remain. At most {countOf(rewritten, 'commit')} of{' '}
        {commits.toLocaleString()} would be rewritten.
        {already > 0 && ` ${already} of the chosen ones are already erased.`} Nothing has happened
        yet.
      </p>
      <div class="cards">
        <Card title="Versions to erase" isShown={versions.length > 0}>
          <Slices label="Versions to erase" rows={versions}>
            {(rows) => <VersionTable label="Versions to erase" versions={rows} />}
          </Slices>
        </Card>
        <Card title="In use: current texts of memories" isShown={current.length > 0} isWarning>
          <p>
            In the next step you choose whether to delete these memories, to overwrite them with a
            text without it, or to keep them.
          </p>
          <FirstVersions label="Current versions" versions={current} />
        </Card>
        <Card title="The same text elsewhere, not chosen" isShown={sameText.length > 0} isWarning>
          <FirstVersions label="The same text" versions={sameText} />
        </Card>
        <Card title="Written on these, and may repeat them" isShown={builtOn.length > 0} isWarning>
          <FirstVersions label="Written on these" versions={builtOn} />
        </Card>
        <Reach plan={plan} />
      </div>
      <div class="go">
        <button type="button" onClick={onBack}>
          Back
        </button>
        <span class="sp" />
        {onNext === undefined ? (
          <p>This console cannot erase: an owner can.</p>
        ) : (
          <button
            type="button"
            class="pri"
            aria-disabled={versions.length === 0}
            onClick={() => versions.length > 0 && onNext()}
          >
            Continue
          </button>
        )}
      </div>
    </>
  )
}

const SHOWN = 20

function FirstVersions({ label, versions }: VersionTableProps) {
  const more = versions.length - SHOWN
  return (
    <>
      <VersionTable label={label} versions={versions.slice(0, SHOWN)} />
      {more > 0 && <p class="dim">and {more} more</p>}
    </>
  )
}

interface VersionTableProps {
  readonly label: string
  readonly versions: readonly Version[]
}

const SHOWN_CHARACTERS = 2000

function VersionTable({ label, versions }: VersionTableProps) {
  return (
    <ListTable label={label} heads={['Memory', 'Written', 'Text']}>
      {versions.map((version) => (
        <tr key={version.versionId}>
          <td>{version.path ?? version.memoryId}</td>
          <td>
            {absoluteTime(version.createdAt)}, {writerOf(version)}
          </td>
          <td>
            <Veiled versionId={version.versionId} />
          </td>
        </tr>
      ))}
    </ListTable>
  )
}

function Veiled({ versionId }: { readonly versionId: string }) {
  const [isShown, show] = useState(false)
  const { data } = useAsk('version.show', isShown ? { versionId } : undefined)
  const text = data?.content
  return (
    <>
      <button type="button" class="veil" aria-expanded={isShown} onClick={() => show(!isShown)}>
        {isShown ? 'Hide' : 'Show'}
      </button>
      {isShown && data !== undefined && (
        <pre>{text === undefined ? 'It has no text.' : text.slice(0, SHOWN_CHARACTERS)}</pre>
      )}
    </>
  )
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

// Erasing: paste a text or choose versions, review every place and type the number, then the page
// of the redaction with its proof. The selection is in RAM alone; the address may name a memory or
// a version to begin with, or a redaction that was made.

import { useLocation } from 'preact-iso'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import type { ErasePlan, Selection } from '../../../../operations/console/contract.ts'
import { addressOf } from '../../core/address.ts'
import { ask } from '../../core/ask.ts'
import { useAction } from '../../core/use-action.ts'
import { Check, Field, submitting } from '../../parts/field.tsx'
import { Failure, Heading, ProgressBar } from '../../parts/labels.tsx'
import { PastRedactions, RedactionDone } from './past-redactions.tsx'
import { textToRedact } from './redact-selection.tsx'
import { ReviewStep } from './review-step.tsx'

const steps = ['Choose', 'Review and erase', 'Proof'] as const

interface Stage {
  readonly select: Selection
  readonly plan: ErasePlan
}

export function RedactionPage({ redaction }: { readonly redaction?: string | undefined }) {
  return redaction === undefined ? <Redact /> : <Done key={redaction} redaction={redaction} />
}

function Done({ redaction }: { readonly redaction: string }) {
  return (
    <>
      <nav aria-label="Where this is">
        <a class="up" href={addressOf.redaction()}>
          ‹ Redaction
        </a>
      </nav>
      <RedactionDone redaction={redaction} />
    </>
  )
}

function Redact() {
  const { query, route } = useLocation()
  const { memory, version } = query
  const [stage, setStage] = useState<Stage>()
  const [typed, setTyped] = useState(() => ({
    ...empty,
    versions: version ?? '',
    memoryId: memory ?? '',
    text: textToRedact.peek(),
  }))
  // A later redaction must not begin with the same text.
  useEffect(() => {
    textToRedact.value = ''
  }, [])
  const { run, isRunning, progress, failure } = useAction<ErasePlan>()
  const look = async (select: Selection): Promise<void> => {
    const plan = await run((options) => ask('redaction.plan', { select }, options))
    if (plan !== undefined) setStage({ select, plan })
  }
  return (
    <>
      <Heading title="Redaction" />
      <Steps at={stage === undefined ? 0 : 1} />
      {stage === undefined ? (
        <>
          <ChooseStep
            typed={typed}
            onType={setTyped}
            isAsking={isRunning}
            onLook={(select) => void look(select)}
          />
          <ProgressBar progress={progress} />
          <Failure failure={failure} />
          <PastRedactions />
        </>
      ) : (
        <ReviewStep
          {...stage}
          onBack={() => setStage(undefined)}
          onErased={(redaction) => {
            setTyped(empty)
            if (redaction === undefined) setStage(undefined)
            else route(addressOf.pastRedaction(redaction))
          }}
        />
      )}
    </>
  )
}

function Steps({ at }: { readonly at: number }) {
  return (
    <ol class="steps" aria-label="Steps">
      {steps.map((name, index) => (
        <li
          key={name}
          class={index < at ? 'done' : index === at ? 'cur' : undefined}
          aria-current={index === at ? 'step' : undefined}
        >
          {index + 1} {name}
        </li>
      ))}
    </ol>
  )
}

interface ChooseStepProps {
  readonly typed: typeof empty
  readonly onType: (typed: typeof empty) => void
  readonly isAsking: boolean
  readonly onLook: (select: Selection) => void
}

const fields = [
  ['path', 'At or below the path'],
  ['session', 'Session'],
  ['actorId', 'Actor'],
  ['memoryId', 'Memory, mem_…'],
  ['versions', 'Versions, memver_…'],
] as const

const texts = { versions: '', memoryId: '', path: '', session: '', actorId: '', text: '' }
const empty = { ...texts, regex: false, withCopies: true }

function ChooseStep({ typed, onType, isAsking, onLook }: ChooseStepProps) {
  const hasMore = fields.some(([name]) => typed[name] !== '')
  const select = selectionOf(typed)
  return (
    <form
      onSubmit={submitting(() => {
        if (select !== undefined && !isAsking) onLook(select)
      })}
    >
      <TextToErase text={typed.text} onText={(text) => onType({ ...typed, text })} />
      <details class="more" open={hasMore}>
        <summary>Only some versions</summary>
        <p class="dim">A version must match every field that you fill in.</p>
        <div class="form">
          {fields.map(([name, label]) => (
            <Field
              key={name}
              label={label}
              value={typed[name]}
              onValue={(value) => onType({ ...typed, [name]: value })}
            />
          ))}
        </div>
      </details>
      <p>
        <Check
          class="check"
          label="The text is a regular expression"
          isOn={typed.regex}
          onTurn={(regex) => onType({ ...typed, regex })}
        />
        <Check
          class="check"
          label="Include copies: the same text elsewhere, and later edits of it"
          isOn={typed.withCopies}
          onTurn={(withCopies) => onType({ ...typed, withCopies })}
        />
      </p>
      <p class="go">
        <button type="submit" class="pri" aria-disabled={select === undefined || isAsking}>
          {isAsking ? 'Searching…' : 'Find every place'}
        </button>
        <span class="dim">Nothing is erased in this step.</span>
      </p>
    </form>
  )
}

interface TextToEraseProps {
  readonly text: string
  readonly onText: (text: string) => void
}

function TextToErase({ text, onText }: TextToEraseProps) {
  const id = useId()
  const box = useRef<HTMLTextAreaElement>(null)
  useEffect(() => box.current?.focus(), [])
  return (
    <div class="erase-text">
      <label for={id}>Text to erase from the whole history</label>
      <textarea
        id={id}
        ref={box}
        rows={3}
        spellcheck={false}
        autocomplete="off"
        placeholder="Paste it here, such as a key or a name"
        value={text}
        onInput={({ currentTarget }) => onText(currentTarget.value)}
      />
    </div>
  )
}

/** Undefined while nothing is chosen. */
function selectionOf(typed: typeof empty): Selection | undefined {
  const versionIds = typed.versions.split(/[\s,]+/).filter((id) => id !== '')
  // A text may begin or end with a blank; a line break around it was pasted with it.
  const text = typed.text.replaceAll(/^\n+|\n+$/g, '')
  const given = Object.fromEntries(
    (['memoryId', 'path', 'session', 'actorId'] as const)
      .map((name) => [name, typed[name].trim()])
      .filter(([, value]) => value !== ''),
  )
  if (versionIds.length === 0 && text === '' && Object.keys(given).length === 0) return undefined
  return {
    ...given,
    ...(versionIds.length > 0 && { versionIds }),
    ...(text !== '' && { text, ...(typed.regex && { regex: true }) }),
    withCopies: typed.withCopies,
  }
}

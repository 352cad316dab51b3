// What all screens that take something back have in common: first what would happen, memory by
// memory, and what is left alone and why; then one button, which runs exactly that.

import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import type { RevertPlan } from '../../../../api/console/contract.ts'
import { addressOf } from '../../core/address.ts'
import { mayWrite } from '../../core/state.ts'
import { ChangeTree } from '../../parts/change-tree.tsx'
import { DiffTable } from '../../parts/diff-table.tsx'
import { Failure } from '../../parts/failure.tsx'
import { countOf } from '../../parts/times.ts'
import { LeftAlone } from './left-alone.tsx'
import { type Progress, type Revert, type RevertQuestions, useRevert } from './use-revert.ts'

interface RevertViewProps {
  readonly questions: RevertQuestions
  /** The label of the button: `Undo`, with the number of changes added. */
  readonly verb: string
  /** The message if there is nothing to change. */
  readonly nothing: string
}

export function RevertView({ questions, verb, nothing }: RevertViewProps): JSX.Element {
  const revert = useRevert(questions)
  const { plan, isDone, failure, news } = revert
  // Once shown, the form and its input are kept while a plan is made again.
  const hadSteps = useRef(false)
  hadSteps.current = plan === undefined ? hadSteps.current : plan.steps.length > 0
  return (
    <>
      {isDone && plan !== undefined ? <Done plan={plan} /> : <Before revert={revert} />}
      {plan !== undefined && <Steps plan={plan} isDone={isDone} nothing={nothing} />}
      {plan !== undefined && <LeftAlone left={plan.left} />}
      {plan === undefined && failure !== undefined && <Failure failure={failure} />}
      {!isDone && (hadSteps.current || news !== undefined) && (
        <Confirm verb={verb} revert={revert} />
      )}
    </>
  )
}

function Before({ revert: { plan, isRunning, failure, progress } }: RevertOnly): JSX.Element {
  const isPlanning = plan === undefined && failure === undefined
  return (
    <>
      <p class="meta" role="status">
        {isRunning && 'It is being done…'}
        {isPlanning && 'Looking at what would happen…'}
        {!isRunning && !isPlanning && 'Nothing has happened yet.'}
      </p>
      {(isPlanning || isRunning) && <Bar progress={progress} />}
    </>
  )
}

interface RevertOnly {
  readonly revert: Revert
}

function Bar({ progress }: { readonly progress: Progress | undefined }): JSX.Element | null {
  if (progress === undefined || progress.total === 0) return null
  return <progress aria-label="Progress" value={progress.done} max={progress.total} />
}

/** It takes the focus, since the pressed button no longer exists. */
function Done({ plan: { steps, commit } }: { readonly plan: RevertPlan }): JSX.Element {
  const box = useRef<HTMLParagraphElement>(null)
  useEffect(() => box.current?.focus(), [])
  return (
    <p class="banner good" tabIndex={-1} ref={box} role="status">
      <b>Done.</b>
      {commit === undefined
        ? 'There was nothing left to change.'
        : `${countOf(steps.length, 'memory')} changed, in one commit. It can be taken back, too.`}
      <span class="sp" />
      <a href={addressOf.view('timeline')}>Timeline</a>
    </p>
  )
}

interface StepsProps {
  readonly plan: RevertPlan
  readonly isDone: boolean
  readonly nothing: string
}

function Steps({ plan: { steps }, isDone, nothing }: StepsProps): JSX.Element {
  if (steps.length === 0) return <p>{nothing}</p>
  const changes = steps.map(({ memoryId, operation, before, after }) => ({
    memoryId,
    operation,
    path: (after ?? before)?.path,
    movedFrom: after !== undefined && after.path !== before?.path ? before?.path : undefined,
  }))
  return (
    <section>
      <h2>
        {isDone ? 'Changed' : 'Would change'} <span class="dim">{sumOf(changes)}</span>
      </h2>
      <ChangeTree label={isDone ? 'What changed' : 'What would change'} changes={changes}>
        {({ memoryId, path }) => {
          const step = steps.find((one) => one.memoryId === memoryId)
          return (
            <DiffTable
              before={step?.before?.content}
              after={step?.after?.content}
              label={`${path ?? memoryId}, before and after`}
            />
          )
        }}
      </ChangeTree>
    </section>
  )
}

function sumOf(changes: readonly { readonly operation: string }[]): ComponentChildren {
  const count = (operation: string): number =>
    changes.filter((change) => change.operation === operation).length
  return (['created', 'modified', 'deleted'] as const)
    .filter((operation) => count(operation) > 0)
    .map((operation) => `${count(operation)} ${operation}`)
    .join(', ')
}

interface ConfirmProps extends RevertOnly {
  readonly verb: string
}

function Confirm({ verb, revert }: ConfirmProps): JSX.Element {
  const { plan, isRunning, failure, news, look, run } = revert
  const [reason, setReason] = useState('')
  const button = useRef<HTMLButtonElement>(null)
  const id = useId()
  if (!mayWrite.value) return <p class="go">This console may look, but not write.</p>
  const count = plan?.steps.length ?? 0
  const isReady = count > 0 && !isRunning && news === undefined
  return (
    <form
      class="go"
      onSubmit={(event) => {
        event.preventDefault()
        if (isReady) void run(reason)
      }}
    >
      <label for={id}>Reason, kept in the history (optional)</label>
      <input
        autocomplete="off"
        id={id}
        value={reason}
        onInput={(event) => setReason(event.currentTarget.value)}
      />
      <span class="sp" />
      <button type="submit" class="pri" ref={button} aria-disabled={!isReady}>
        {count === 0 ? verb : `${verb}: change ${countOf(count, 'memory')}`}
      </button>
      <News
        news={news}
        isPlanned={plan !== undefined}
        onLook={() => {
          look()
          // The pressed button is removed.
          button.current?.focus()
        }}
      />
      {plan !== undefined && failure !== undefined && <Failure failure={failure} />}
    </form>
  )
}

interface NewsProps {
  readonly news: Revert['news']
  readonly isPlanned: boolean
  readonly onLook: () => void
}

function News({ news, isPlanned, onLook }: NewsProps): JSX.Element | null {
  if (news === undefined) return null
  return (
    <div class="banner" role="alert">
      <span>
        {news === 'refused'
          ? 'Nothing was done: the store has changed since the plan was made. '
          : 'The store has changed while you looked. '}
        {isPlanned ? 'Above is the new plan.' : 'The plan is being made again…'}
      </span>
      <span class="sp" />
      {isPlanned && (
        <button type="button" onClick={onLook}>
          I have looked at the new plan
        </button>
      )}
    </div>
  )
}

// What the undo, the restore and the rollback have in common: a plan, memory by memory, with the
// memories that it leaves alone and why; then one button, which runs exactly that plan.

import { useEffect, useRef, useState } from 'preact/hooks'
import type { InputOf, RevertPreview } from '../../../../operations/console/contract.ts'
import { addressOf } from '../../core/address.ts'
import { ask, type AskFailure } from '../../core/ask.ts'
import { changed, revision } from '../../core/events.ts'
import { mayWrite } from '../../core/state.ts'
import type { WorkProgress } from '../../core/use-action.ts'
import { asFailure } from '../../core/use-ask.ts'
import { ChangeTree } from '../../parts/change-tree.tsx'
import { DiffTable } from '../../parts/diff-table.tsx'
import { Field, submitting } from '../../parts/field.tsx'
import { Failure, ProgressBar } from '../../parts/labels.tsx'
import { ListTable } from '../../parts/list-table.tsx'
import { Slices } from '../../parts/pager.tsx'
import { countOf } from '../../parts/times.ts'
import { reasonIn } from '../memory/drafts.ts'

interface RevertViewProps {
  readonly of: RevertInput
  /** The label of the button: `Undo`, with the number of changes added. */
  readonly verb: string
  /** The message if there is nothing to change. */
  readonly nothing: string
}

export function RevertView({ of, verb, nothing }: RevertViewProps) {
  const revert = useRevert(of)
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

function Before({ revert: { plan, isRunning, failure, progress } }: RevertOnly) {
  const isPlanning = plan === undefined && failure === undefined
  return (
    <>
      <p class="meta" role="status">
        {isRunning && 'Working…'}
        {isPlanning && 'Planning…'}
        {!isRunning && !isPlanning && 'Nothing has happened yet.'}
      </p>
      {(isPlanning || isRunning) && <ProgressBar progress={progress} />}
    </>
  )
}

interface RevertOnly {
  readonly revert: PlannedRevert
}

/** It takes the focus, since the pressed button no longer exists. */
function Done({ plan: { steps, commit } }: { readonly plan: RevertPreview }) {
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
  readonly plan: RevertPreview
  readonly isDone: boolean
  readonly nothing: string
}

function Steps({ plan: { steps }, isDone, nothing }: StepsProps) {
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

function sumOf(changes: readonly { readonly operation: string }[]): string {
  return ['created', 'modified', 'deleted']
    .map((name) => ({ name, count: changes.filter(({ operation }) => operation === name).length }))
    .filter(({ count }) => count > 0)
    .map(({ name, count }) => `${count} ${name}`)
    .join(', ')
}

type Left = RevertPreview['left'][number]

const REASONS: Readonly<Record<Left['reason'], string>> = {
  overlap: 'Later edits touch the same lines, so this one needs you.',
  redacted: 'A text that this needs was redacted.',
  path_taken: 'Another memory is at, above or below this path. Move or delete that one first.',
}

/** The memories that it does not change. */
function LeftAlone({ left }: { readonly left: readonly Left[] }) {
  if (left.length === 0) return null
  return (
    <section>
      <h2>
        Left alone <span class="dim">{left.length}</span>
      </h2>
      <Slices label="Left alone" rows={left}>
        {(rows) => (
          <ListTable label="Memories left alone" heads={['Memory', 'Why']}>
            {rows.map(({ memoryId, path, reason }) => (
              <tr key={memoryId}>
                <td>
                  <a href={addressOf.memory(memoryId)}>{path ?? memoryId}</a>
                </td>
                <td>{REASONS[reason]}</td>
              </tr>
            ))}
          </ListTable>
        )}
      </Slices>
    </section>
  )
}

interface ConfirmProps extends RevertOnly {
  readonly verb: string
}

function Confirm({ verb, revert }: ConfirmProps) {
  const { plan, isRunning, failure, news, look, run } = revert
  const [reason, setReason] = useState('')
  const button = useRef<HTMLButtonElement>(null)
  if (!mayWrite.value) return <p class="go">This console may look, but not write.</p>
  const count = plan?.steps.length ?? 0
  const isReady = count > 0 && !isRunning && news === undefined
  return (
    <form
      class="go"
      onSubmit={submitting(() => {
        if (isReady) void run(reason)
      })}
    >
      <Field label="Reason, kept in the history (optional)" value={reason} onValue={setReason} />
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
  readonly news: PlannedRevert['news']
  readonly isPlanned: boolean
  readonly onLook: () => void
}

function News({ news, isPlanned, onLook }: NewsProps) {
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
          I have reviewed the new plan
        </button>
      )}
    </div>
  )
}

/** The changes to take back. */
type RevertInput =
  | { readonly kind: 'undo'; readonly input: InputOf<'undo.plan'> }
  | { readonly kind: 'restore'; readonly input: InputOf<'restore.plan'> }
  | { readonly kind: 'rollback'; readonly input: InputOf<'rollback.plan'> }

interface PlannedRevert {
  /** What would happen, or has happened if `isDone`. Undefined while it is asked for. */
  readonly plan: RevertPreview | undefined
  readonly isDone: boolean
  readonly isRunning: boolean
  readonly progress: WorkProgress | undefined
  readonly failure: AskFailure | undefined
  /**
   * Why the plan has to be looked at again: the store has changed while it was shown, or before
   * it could run, in which case nothing was done.
   */
  readonly news: 'changed' | 'refused' | undefined
  readonly look: () => void
  readonly run: (reason: string) => Promise<void>
}

interface RevertState {
  readonly key: string
  readonly plan?: RevertPreview | undefined
  readonly isDone: boolean
  readonly isRunning: boolean
  readonly failure?: AskFailure | undefined
  readonly news?: PlannedRevert['news']
}

/**
 * Plans again when the store changes: another plan must be looked at before it can be run. Must not
 * write except by `run`.
 */
function useRevert(of: RevertInput): PlannedRevert {
  const key = JSON.stringify(of)
  const [held, hold] = useState<RevertState>(begin(key))
  const [progress, setProgress] = useState<WorkProgress>()
  const state = held.key === key ? held : begin(key)
  usePlanning(of, state, hold, setProgress)
  const run = async (reason: string): Promise<void> => {
    const { plan } = state
    if (plan === undefined || state.isRunning || state.news !== undefined) return
    hold({ ...state, isRunning: true, failure: undefined })
    setProgress(undefined)
    try {
      const input = { ...of.input, plan: plan.plan, ...reasonIn(reason) }
      // Not ended when the user leaves: a confirmed plan is done, or refused, as a whole.
      const done = await ask(`${of.kind}.run`, input, {
        onProgress: (past, total) => setProgress({ done: past, total }),
      })
      hold({ key, plan: done, isDone: true, isRunning: false })
      changed()
    } catch (error) {
      hold(refused(state, asFailure(error)))
    }
  }
  const { plan, isDone, isRunning, failure, news } = state
  const look = (): void => hold({ ...state, news: undefined })
  return { plan, isDone, isRunning, progress, failure, news, look, run }
}

/** Asks for the plan, and again when the store changes or a run was refused. */
function usePlanning(
  { kind, input }: RevertInput,
  state: RevertState,
  hold: (state: RevertState) => void,
  setProgress: (progress: WorkProgress | undefined) => void,
): void {
  // An answer applies to the newest state, not to the one when it was asked for.
  const latest = useRef(state)
  latest.current = state
  const isAsking = !state.isDone && !state.isRunning
  const now = revision.value
  useEffect(() => {
    if (!isAsking) return undefined
    const ending = new AbortController()
    const { signal } = ending
    const look = async (): Promise<void> => {
      try {
        const onProgress = (done: number, total: number): void => setProgress({ done, total })
        const answer = await ask(`${kind}.plan`, input, { signal, onProgress })
        if (!signal.aborted) hold(planned(latest.current, answer))
      } catch (error) {
        // No part of a plan is kept that the store no longer gives: it may have been erased.
        if (!signal.aborted) hold({ ...begin(state.key), failure: asFailure(error) })
      }
    }
    setProgress(undefined)
    void look()
    return () => ending.abort()
  }, [state.key, now, isAsking])
}

function begin(key: string): RevertState {
  return { key, isDone: false, isRunning: false }
}

/** A plan that is not the one that was shown has news for the user. */
function planned(state: RevertState, plan: RevertPreview): RevertState {
  if (state.plan === undefined) return { ...state, plan, failure: undefined }
  if (state.plan.plan === plan.plan) return { ...state, plan }
  return { ...state, plan, news: state.news ?? 'changed' }
}

/** `precondition_failed`: the plan is another by now, and is asked for again. */
function refused(state: RevertState, failure: AskFailure): RevertState {
  if (failure.code !== 'precondition_failed') return { ...state, isRunning: false, failure }
  return { ...begin(state.key), news: 'refused' }
}

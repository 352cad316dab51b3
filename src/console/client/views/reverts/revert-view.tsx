// What the undo, the restore and the rollback have in common: a plan, memory by memory, with the
// memories that it leaves alone and why; then one button, which runs exactly that plan.

import { useEffect, useRef, useState } from 'preact/hooks'
import type { RevertPreview } from '../../../../operations/console/contract.ts'
import { addressOf } from '../../core/address.ts'
import { ask } from '../../core/ask.ts'
import { mayWrite } from '../../core/state.ts'
import { useAction } from '../../core/use-action.ts'
import { ChangeTree } from '../../parts/change-tree.tsx'
import { DiffTable } from '../../parts/diff-table.tsx'
import { Field, submitting } from '../../parts/field.tsx'
import { Failure, ProgressBar } from '../../parts/labels.tsx'
import { ListTable } from '../../parts/list-table.tsx'
import { Slices } from '../../parts/pager.tsx'
import { countOf } from '../../parts/times.ts'
import { type PlannedRevert, type RevertInput, useRevert } from './use-revert.ts'

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
      {isDone && plan !== undefined ? (
        <Done plan={plan} isBack={isOfChange(of)} />
      ) : (
        <Before revert={revert} />
      )}
      {plan?.doubt !== undefined && (
        <p class="banner" role="status">
          {plan.doubt}.
        </p>
      )}
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

function isOfChange({ kind, input }: RevertInput): boolean {
  return kind === 'undo' && input.by === 'change'
}

interface RevertOnly {
  readonly revert: PlannedRevert
}

interface DoneProps {
  readonly plan: RevertPreview
  /** Whether it took back another undo: then there is no button for the next one. */
  readonly isBack: boolean
}

/** It takes the focus, since the pressed button no longer exists. */
function Done({ plan: { steps, versionId }, isBack }: DoneProps) {
  const box = useRef<HTMLDivElement>(null)
  const { run, isRunning, failure, result } = useAction<'back' | 'partly'>()
  useEffect(() => box.current?.focus(), [result])
  const count = countOf(steps.length, 'memory')
  return (
    <div class="banner good" tabIndex={-1} ref={box} role="status">
      <b>{result === undefined ? 'Done.' : 'Taken back.'}</b>
      {versionId === undefined && 'There was nothing left to change.'}
      {versionId !== undefined && result === undefined && `${count} changed, in one commit.`}
      {result === 'back' && `${count} changed back.`}
      {result === 'partly' && 'Memories that were edited later were left alone.'}
      <span class="sp" />
      {versionId !== undefined && result === undefined && !isBack && (
        <button
          type="button"
          aria-disabled={isRunning}
          onClick={() => void run(() => takeBack(versionId))}
        >
          Take it back
        </button>
      )}
      <a class="button" href={addressOf.view('timeline')}>
        Timeline
      </a>
      <Failure failure={failure} />
    </div>
  )
}

/** Undoes the commit of a version: what it changed is known, since it was just shown. */
async function takeBack(versionId: string): Promise<'back' | 'partly'> {
  const change = { versionId, by: 'change' } as const
  const { plan } = await ask('undo.plan', change)
  const { left } = await ask('undo.run', { ...change, plan })
  return left.length === 0 ? 'back' : 'partly'
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

/** The memories that it does not change, by the reason for it, with a way on for each. */
function LeftAlone({ left }: { readonly left: readonly Left[] }) {
  if (left.length === 0) return null
  const reasons = [...new Set(left.map(({ reason }) => reason))]
  return (
    <section>
      <h2>
        Left alone <span class="dim">{left.length}</span>
      </h2>
      {reasons.map((reason) => (
        <LeftFor key={reason} reason={reason} left={left.filter((one) => one.reason === reason)} />
      ))}
    </section>
  )
}

interface LeftForProps {
  readonly reason: Left['reason']
  readonly left: readonly Left[]
}

function LeftFor({ reason, left }: LeftForProps) {
  const words = REASONS[reason]
  return (
    <details class="left-alone" open>
      <summary>
        {words} <span class="dim">{countOf(left.length, 'memory')}</span>
      </summary>
      <Slices label={words} rows={left}>
        {(rows) => (
          <ListTable label={words} heads={['Memory', <span class="sr">Actions</span>]}>
            {rows.map(({ memoryId, path = memoryId, before }) => (
              <tr key={memoryId}>
                <th scope="row">{path}</th>
                <td class="row-acts">
                  <a
                    class="button"
                    href={addressOf.memory(memoryId, { at: null })}
                    aria-label={`Open ${path}`}
                  >
                    Open
                  </a>{' '}
                  {mayWrite.value && before !== undefined && reason !== 'path_taken' && (
                    <a
                      class="button"
                      href={addressOf.restore(memoryId, { versionId: before })}
                      aria-label={`Restore the version before: ${path}`}
                    >
                      Restore the version before…
                    </a>
                  )}
                </td>
              </tr>
            ))}
          </ListTable>
        )}
      </Slices>
    </details>
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
      class="go at-foot"
      onSubmit={submitting(() => {
        if (isReady) void run(reason)
      })}
    >
      {plan !== undefined && <Sums plan={plan} />}
      <Field label="Reason (optional)" value={reason} onValue={setReason} />
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

/** What the button does, in view wherever the page is scrolled. */
function Sums({ plan: { steps, left } }: { readonly plan: RevertPreview }) {
  return (
    <span class="sums">
      {sumOf(steps)}
      {left.length > 0 && <span class="dim"> · {left.length} left alone</span>}
    </span>
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

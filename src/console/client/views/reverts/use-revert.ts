// The plan of a revert, and its run: planned again when the store changes, which the user has to
// look at before the new plan can be run.

import { useEffect, useRef, useState } from 'preact/hooks'
import type { InputOf, RevertPreview } from '../../../../operations/console/contract.ts'
import { ask, type AskFailure } from '../../core/ask.ts'
import { changed, revision } from '../../core/events.ts'
import type { WorkProgress } from '../../core/use-action.ts'
import { asFailure } from '../../core/use-ask.ts'
import { reasonIn } from '../memory/drafts.ts'

/** The changes to take back. */
export type RevertInput =
  | { readonly kind: 'undo'; readonly input: InputOf<'undo.plan'> }
  | { readonly kind: 'restore'; readonly input: InputOf<'restore.plan'> }
  | { readonly kind: 'rollback'; readonly input: InputOf<'rollback.plan'> }

export interface PlannedRevert {
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
export function useRevert(of: RevertInput): PlannedRevert {
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

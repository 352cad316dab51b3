// Something that the user does to the store: one at a time, with its failure next to the button.

import { useState } from 'preact/hooks'
import type { AskFailure, AskOptions } from './ask.ts'
import { changed } from './events.ts'
import { asFailure } from './use-ask.ts'

export interface WorkProgress {
  readonly done: number
  readonly total: number
}

export interface Action<Result> {
  readonly isRunning: boolean
  readonly progress: WorkProgress | undefined
  readonly failure: AskFailure | undefined
  readonly result: Result | undefined
  readonly run: (work: (options: AskOptions) => Promise<Result>) => Promise<Result | undefined>
}

/** `run` gives undefined, and nothing else happens, for a failure and while another one runs. */
export function useAction<Result>(): Action<Result> {
  const [state, setState] = useState<Omit<Action<Result>, 'run'>>(begin)
  const run: Action<Result>['run'] = async (work) => {
    if (state.isRunning) return undefined
    setState({ ...begin, isRunning: true })
    try {
      const onProgress = (done: number, total: number): void =>
        setState({ ...begin, isRunning: true, progress: { done, total } })
      const result = await work({ onProgress })
      setState({ ...begin, result })
      changed()
      return result
    } catch (error) {
      setState({ ...begin, failure: asFailure(error) })
      return undefined
    }
  }
  return { ...state, run }
}

const begin = { isRunning: false, progress: undefined, failure: undefined, result: undefined }

// A question whose answer a component shows: it is asked again when its input changes and when the
// store does, and what is shown stays until the new answer is there, unless that is a failure.

import { useEffect, useState } from 'preact/hooks'
import type { InputOf, QuestionName, ResultOf } from '../../../api/console/contract.ts'
import { ask, AskFailure } from './ask.ts'
import { revision } from './events.ts'

export interface Asked<Result> {
  /** Of the newest question that was answered; undefined before, and after a failure. */
  readonly data: Result | undefined
  readonly failure: AskFailure | undefined
  readonly isAsking: boolean
}

interface Held<Result> extends Asked<Result> {
  readonly key: string
}

/** Asks nothing while `input` is undefined. Data of another input is not given. */
export function useAsk<Name extends QuestionName>(
  name: Name,
  input: InputOf<Name> | undefined,
): Asked<ResultOf<Name>> {
  const key = input === undefined ? '' : `${name} ${JSON.stringify(input)}`
  const [held, hold] = useState<Held<ResultOf<Name>>>()
  const now = revision.value
  useEffect(() => {
    if (input === undefined) return
    const ending = new AbortController()
    ask(name, input, { signal: ending.signal }).then(
      (data) => {
        if (!ending.signal.aborted) hold({ key, data, failure: undefined, isAsking: false })
      },
      (error: unknown) => {
        if (ending.signal.aborted) return
        // Nothing of an answer stays that the store gives no more: it may have been erased.
        hold({ key, data: undefined, failure: asFailure(error), isAsking: false })
      },
    )
    return () => ending.abort()
  }, [key, now])
  if (held?.key === key) return held
  return { data: undefined, failure: undefined, isAsking: input !== undefined }
}

export function asFailure(error: unknown): AskFailure {
  if (error instanceof AskFailure) return error
  return new AskFailure({ code: 'unavailable', message: 'The page failed: reload it' })
}

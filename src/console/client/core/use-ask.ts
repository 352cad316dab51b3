// A question whose answer a component shows. It is asked again when its input or the store changes;
// the last answer is shown until the new one arrives, unless that is a failure.

import { useEffect, useRef, useState } from 'preact/hooks'
import type { InputOf, QuestionName, ResultOf } from '../../../operations/console/contract.ts'
import { ask, AskFailure } from './ask.ts'
import { revision } from './events.ts'

export interface Asked<Result> {
  /** The answer to the newest answered question; undefined before, and after a failure. */
  readonly data: Result | undefined
  readonly failure: AskFailure | undefined
  readonly isAsking: boolean
}

export interface AskHow {
  /** Shows the answer to the input before until that to the new one is there. */
  readonly keepsLast?: boolean
}

/** Asks nothing while `input` is undefined. Data of another input is not given, unless told to. */
export function useAsk<Name extends QuestionName>(
  name: Name,
  input: InputOf<Name> | undefined,
  { keepsLast = false }: AskHow = {},
): Asked<ResultOf<Name>> {
  const key = input === undefined ? '' : `${name} ${JSON.stringify(input)}`
  const [held, hold] = useState<Asked<ResultOf<Name>> & { readonly key: string }>()
  const again = useRef<() => void>(undefined)
  useEffect(() => {
    if (input === undefined) return undefined
    const ending = new AbortController()
    const { signal } = ending
    again.current = oneAtATime(async () => {
      try {
        const data = await ask(name, input, { signal })
        if (!signal.aborted) hold({ key, data, failure: undefined, isAsking: false })
      } catch (error) {
        // No part of an answer is kept that the store no longer gives: it may have been erased.
        const failure = asFailure(error)
        if (!signal.aborted) hold({ key, data: undefined, failure, isAsking: false })
      }
    })
    again.current()
    return () => {
      again.current = undefined
      ending.abort()
    }
  }, [key])
  const now = revision.value
  const first = useRef(now)
  useEffect(() => {
    if (now !== first.current) again.current?.()
    first.current = now
  }, [now])
  if (held?.key === key) return held
  const data = keepsLast ? held?.data : undefined
  return { data, failure: undefined, isAsking: input !== undefined }
}

/** Calls that come while the work runs make it run once more: frequent calls starve no other. */
function oneAtATime(work: () => Promise<void>): () => void {
  let state: 'idle' | 'running' | 'again' = 'idle'
  const run = async (): Promise<void> => {
    do {
      state = 'running'
      await work()
    } while (isAgain())
    state = 'idle'
  }
  const isAgain = (): boolean => state === 'again'
  return () => {
    if (state === 'idle') void run()
    else state = 'again'
  }
}

export function asFailure(error: unknown): AskFailure {
  if (error instanceof AskFailure) return error
  return new AskFailure({ code: 'unavailable', message: 'The page failed: reload it' })
}

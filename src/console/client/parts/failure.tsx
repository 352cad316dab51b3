// A refusal or failure, shown next to its question.

import type { JSX } from 'preact'
import type { AskFailure } from '../core/ask.ts'

export function Failure({ failure }: { readonly failure: AskFailure }): JSX.Element {
  const { message, path, advice } = failure
  return (
    <p class="failure" role="alert">
      <b>
        {message}
        {path !== undefined && `: ${path}`}
      </b>
      {advice !== undefined && ` — ${advice}`}
    </p>
  )
}

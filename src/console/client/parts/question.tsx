// A question in front of the page, with what to fill in, and one button that does it. What was typed
// stays if that fails.

import type { ComponentChildren, JSX } from 'preact'
import { useAction } from '../core/use-action.ts'
import { Dialog } from './dialog.tsx'
import { Failure } from './failure.tsx'

interface QuestionProps {
  readonly title: string
  /** What the button says. */
  readonly verb: string
  /** Whether enough is filled in. */
  readonly isReady?: boolean
  readonly onClose: () => void
  /** Closes the question itself, if it is to be closed when that is done. */
  readonly onRun: () => Promise<void>
  readonly children: ComponentChildren
}

export function Question(props: QuestionProps): JSX.Element {
  const { title, verb, isReady = true, onClose, onRun, children } = props
  const { run, isRunning, failure } = useAction<void>()
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (isReady) void run(onRun)
        }}
      >
        {children}
        {failure !== undefined && <Failure failure={failure} />}
        <p class="go">
          <button type="submit" class="pri" aria-disabled={isRunning || !isReady}>
            {verb}
          </button>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </p>
      </form>
    </Dialog>
  )
}

// A dialog in front of the page, with fields and one button that acts. If the action fails, the
// fields keep their values.

import type { ComponentChildren, JSX } from 'preact'
import { useAction } from '../core/use-action.ts'
import { Dialog } from './dialog.tsx'
import { Failure } from './failure.tsx'

interface QuestionProps {
  readonly title: string
  /** The label of the button. */
  readonly verb: string
  /** Whether enough is filled in. */
  readonly isReady?: boolean
  readonly onClose: () => void
  /** Closes the question when that is done, if wanted. */
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

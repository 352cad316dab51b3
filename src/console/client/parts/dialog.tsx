// A dialog in front of the page. Escape closes it; the focus returns to its former place.

import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { useAction } from '../core/use-action.ts'
import { submitting } from './field.tsx'
import { Failure } from './labels.tsx'

interface DialogProps {
  readonly title: string
  readonly class?: string
  readonly onClose: () => void
  readonly children: ComponentChildren
}

export function Dialog({ title, class: kind, onClose, children }: DialogProps) {
  const box = useRef<HTMLDialogElement>(null)
  const id = useId()
  // At once: a key pressed right after the one that opens it is typed into it.
  useLayoutEffect(() => {
    const before = document.activeElement
    const dialog = box.current
    dialog?.showModal()
    return () => {
      // While it is open, nothing behind it takes the focus.
      dialog?.close()
      if (before instanceof HTMLElement) before.focus()
    }
  }, [])
  return (
    <dialog
      ref={box}
      class={kind}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
    >
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  )
}

interface QuestionProps {
  readonly title: string
  /** The label of the button. */
  readonly verb: string
  /** Whether enough is filled in. */
  readonly isReady?: boolean
  /** Whether the button takes something away. */
  readonly isRisk?: boolean
  readonly onClose: () => void
  /** Closes the question when that is done, if wanted. */
  readonly onRun: () => Promise<void>
  readonly children: ComponentChildren
}

/** With fields and one button that acts. If the action fails, the fields keep their values. */
export function Question(props: QuestionProps) {
  const { title, verb, isReady = true, isRisk = false, onClose, onRun, children } = props
  const { run, isRunning, failure } = useAction<void>()
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        onSubmit={submitting(() => {
          if (isReady) void run(onRun)
        })}
      >
        {children}
        <Failure failure={failure} />
        <p class="go">
          <button
            type="submit"
            class={isRisk ? 'danger' : 'pri'}
            aria-disabled={isRunning || !isReady}
          >
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

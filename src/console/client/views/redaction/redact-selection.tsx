// "Redact this…" next to a text that the user selects in a memory. The redaction begins with that
// text, which is in RAM alone: it may be a secret.

import { signal } from '@preact/signals'
import { useLocation } from 'preact-iso'
import { useEffect, useState } from 'preact/hooks'
import { addressOf } from '../../core/address.ts'
import { forgetAtEnd } from '../../core/session.ts'
import { mayManage } from '../../core/state.ts'

export const textToRedact = signal('')

forgetAtEnd(() => {
  textToRedact.value = ''
})

interface Selected {
  readonly text: string
  /** In the window, in pixels. */
  readonly top: number
  readonly left: number
}

/** Below the selection, and inside the window. */
const GAP_PX = 6
const ROOM_PX = 130

/** `within` selects the element whose text may be chosen. */
export function RedactSelection({ within }: { readonly within: string }) {
  const { route } = useLocation()
  const [selected, select] = useState<Selected>()
  useEffect(() => {
    const look = (): void => select(selectionIn(within))
    document.addEventListener('selectionchange', look)
    // What moves under the button is no longer next to it.
    addEventListener('scroll', look, { capture: true, passive: true })
    return () => {
      document.removeEventListener('selectionchange', look)
      removeEventListener('scroll', look, { capture: true })
    }
  }, [within])
  if (selected === undefined || !mayManage.value) return null
  const { text, top, left } = selected
  return (
    <button
      type="button"
      class="redact-this"
      style={{ top: `${top}px`, left: `${left}px` }}
      // The selection remains until the click.
      onMouseDown={(event) => event.preventDefault()}
      onClick={() => {
        textToRedact.value = text
        route(addressOf.redaction())
      }}
    >
      Redact this…
    </button>
  )
}

function selectionIn(within: string): Selected | undefined {
  const selection = getSelection()
  const text = selection?.toString().trim() ?? ''
  const box = document.querySelector(within)
  if (selection === null || text === '' || selection.rangeCount === 0) return undefined
  const range = selection.getRangeAt(0)
  if (box?.contains(range.commonAncestorContainer) !== true) return undefined
  const { bottom, left } = range.getBoundingClientRect()
  return {
    text,
    top: Math.min(bottom + GAP_PX, innerHeight - ROOM_PX),
    left: Math.max(0, Math.min(left, innerWidth - ROOM_PX)),
  }
}

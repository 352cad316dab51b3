// The place of the editor in the page: it comes when its code has been loaded.

import { useEffect, useRef, useState } from 'preact/hooks'

interface EditorProps {
  readonly label: string
  /** What the text is at first; later ones are not taken over. */
  readonly text: string
  /** The current text, shown next to it; undefined if it has not changed. */
  readonly theirs: string | undefined
  readonly onText: (text: string) => void
  readonly onSave: () => void
}

export function Editor({ label, text, theirs, onText, onSave }: EditorProps) {
  const box = useRef<HTMLDivElement>(null)
  const [isLost, setLost] = useState(false)
  // The editor calls the newest function, and is not made again.
  const newest = useRef({ onText, onSave, text })
  newest.current = { onText, onSave, text }
  useEffect(() => {
    let shown: { readonly destroy: () => void } | undefined
    let isGone = false
    const show = async (): Promise<void> => {
      const { showEditor, showMerge } = await import('./code-editor.ts')
      const { current } = box
      if (isGone || current === null) return
      const options = {
        label,
        text: newest.current.text,
        onText: (next: string) => newest.current.onText(next),
        onSave: () => newest.current.onSave(),
      }
      shown =
        theirs === undefined
          ? showEditor(current, options)
          : showMerge(current, { ...options, theirs })
    }
    show().catch(() => setLost(true))
    return () => {
      isGone = true
      shown?.destroy()
    }
  }, [label, theirs])
  return (
    <div class="editor" ref={box}>
      {isLost && <p role="alert">The editor could not be loaded: reload the page.</p>}
    </div>
  )
}

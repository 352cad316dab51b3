// A button that opens a short list of links and buttons. Escape, a choice and a click elsewhere
// close it.

import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Icon, type IconName } from './icons.tsx'

interface MenuProps {
  /** The name of the button. */
  readonly label: string
  readonly icon?: IconName
  /** Links and buttons. */
  readonly children: ComponentChildren
}

export function Menu({ label, icon = 'more', children }: MenuProps) {
  const [isOpen, setOpen] = useState(false)
  const box = useRef<HTMLSpanElement>(null)
  useEffect(() => {
    if (!isOpen) return undefined
    const leave = ({ target }: Event): void => {
      if (!(target instanceof Node) || box.current?.contains(target) !== true) setOpen(false)
    }
    const onKey = (event: KeyboardEvent): void => {
      if (event.key !== 'Escape') return
      setOpen(false)
      box.current?.querySelector('button')?.focus()
    }
    const events = ['pointerdown', 'focusin'] as const
    for (const event of events) addEventListener(event, leave)
    addEventListener('keydown', onKey)
    return () => {
      for (const event of events) removeEventListener(event, leave)
      removeEventListener('keydown', onKey)
    }
  }, [isOpen])
  return (
    <span class="menu" ref={box}>
      <button
        type="button"
        class="bare"
        aria-label={label}
        title={label}
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        <Icon name={icon} />
      </button>
      {isOpen && (
        <span class="menu-list" onClick={() => setOpen(false)}>
          {children}
        </span>
      )}
    </span>
  )
}

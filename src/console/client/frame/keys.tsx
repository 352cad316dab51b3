// What keys do wherever the user is, unless a text is typed; `?` lists them.

import type { JSX } from 'preact'
import { useLocation } from 'preact-iso'
import { useEffect, useState } from 'preact/hooks'
import { addressOf, type ViewName } from '../core/address.ts'
import { Dialog } from '../parts/dialog.tsx'

const views: Readonly<Record<string, ViewName>> = {
  m: 'memories',
  t: 'timeline',
  s: 'sessions',
  c: 'merges',
  r: 'redaction',
  d: 'devices',
  y: 'sync',
  a: 'audit',
  o: 'settings',
}

const help: readonly (readonly [string, string])[] = [
  ['/', 'search'],
  ['f', 'filter paths'],
  ['e', 'edit the memory'],
  ['n', 'a new memory'],
  [
    'g then a letter',
    'm memories, t timeline, s sessions, c merges, r redaction, d devices, y sync, a audit, ' +
      'o settings',
  ],
  ['Arrow keys, Home, End, Enter', 'in a tree: move, open and close, show'],
  ['Arrow keys, in the line of time', 'one commit earlier or later'],
  ['Ctrl+S, in the editor', 'save'],
  ['Escape', 'close a dialog'],
  ['?', 'this list'],
]

/** What the elements of the page are focused or pressed by. */
const targets: Readonly<Record<string, string>> = {
  '/': '#search',
  f: '#filter',
  e: '#edit',
  n: '#new',
}

export function Keys(): JSX.Element | null {
  const { route } = useLocation()
  const [isShown, show] = useState(false)
  useEffect(() => {
    let afterG = false
    const onKey = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
      const view = afterG ? views[event.key] : undefined
      afterG = event.key === 'g'
      const target = targets[event.key]
      if (view !== undefined) route(addressOf.view(view))
      else if (event.key === '?') show(true)
      else if (target === undefined || !reach(target)) return
      event.preventDefault()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
  if (!isShown) return null
  return (
    <Dialog title="Keys" onClose={() => show(false)}>
      <dl>
        {help.map(([keys, what]) => (
          <>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{what}</dd>
          </>
        ))}
      </dl>
      <p class="go">
        <button type="button" class="pri" onClick={() => show(false)}>
          Close
        </button>
      </p>
    </Dialog>
  )
}

/** Whether there was such an element. */
function reach(selector: string): boolean {
  const found = document.querySelector<HTMLElement>(selector)
  if (found === null) return false
  if (found instanceof HTMLInputElement) found.focus()
  else found.click()
  return true
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  if (target.isContentEditable || target.closest('dialog') !== null) return true
  const isRange = target instanceof HTMLInputElement && target.type === 'range'
  return !isRange && target.matches('input, textarea, select')
}

// The keys of the page, which work unless a text is typed; `?` lists them.

import { useLocation } from 'preact-iso'
import { useEffect, useState } from 'preact/hooks'
import { addressOf } from '../core/address.ts'
import { Dialog } from '../parts/dialog.tsx'
import { views } from './views.tsx'

const help: readonly (readonly [string, string])[] = [
  ['/', 'search'],
  ['f', 'filter paths'],
  ['e', 'edit the memory'],
  ['n', 'a new memory'],
  ['g then a letter', views.map(({ key, name }) => `${key} ${name}`).join(', ')],
  ['Arrow keys, Home, End, Enter', 'in a tree: move, open and close, show'],
  ['Arrow keys, in the line of time', 'one commit earlier or later'],
  ['Ctrl+S, in the editor', 'save'],
  ['Escape', 'close a dialog'],
  ['?', 'this list'],
]

/** Keys that focus or press an element of the page. */
const targets: Readonly<Record<string, string>> = {
  '/': '#search',
  f: '#filter',
  e: '#edit',
  n: '#new',
}

export function Keys() {
  const { route } = useLocation()
  const [isShown, show] = useState(false)
  useEffect(() => {
    let afterG = false
    const onKey = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
      const view = afterG ? views.find(({ key }) => key === event.key) : undefined
      afterG = event.key === 'g'
      const target = targets[event.key]
      if (view !== undefined) route(addressOf.view(view.name))
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

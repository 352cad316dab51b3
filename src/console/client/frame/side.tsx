// The side of the page: the views, and the tree of memories where they are shown. Where the page is
// narrow it is a drawer over the view, which the button in the bar opens.

import { useLocation } from 'preact-iso'
import { useEffect, useRef } from 'preact/hooks'
import { storeNow } from '../core/address.ts'
import { isDrawerOpen, overview } from '../core/state.ts'
import { Icon, Logo } from '../parts/icons.tsx'
import { MemoryTree } from './memory-tree.tsx'
import { Rail } from './views.tsx'

export function Side({ withTree }: { readonly withTree: boolean }) {
  const { path } = useLocation()
  const box = useRef<HTMLDivElement>(null)
  const isOpen = isDrawerOpen.value
  useEffect(close, [path])
  useEffect(() => {
    if (!isOpen) return undefined
    const side = box.current
    if (side?.contains(document.activeElement) === false) {
      const first = side.querySelector<HTMLElement>('[role=tree]') ?? side.querySelector('.rail a')
      first?.focus()
    }
    const onKey = ({ key }: KeyboardEvent): void => {
      if (key === 'Escape') close()
    }
    addEventListener('keydown', onKey)
    return () => {
      removeEventListener('keydown', onKey)
      const focused = document.activeElement
      if (focused === document.body || side?.contains(focused) === true) {
        document.getElementById('to-side')?.focus()
      }
    }
  }, [isOpen])
  return (
    <>
      {isOpen && <div class="backdrop" onClick={close} />}
      <div
        id="side"
        class={isOpen ? 'side open' : 'side'}
        ref={box}
        onClick={({ target }) => {
          // A link to the shown view changes no address.
          if (target instanceof Element && target.closest('a') !== null) close()
        }}
      >
        <nav class="side-store" aria-label="Store">
          <Logo />
          <strong>{overview.value?.name}</strong>
          {storeNow.value !== undefined && (
            <a class="chip" href="/">
              <Icon name="stores" />
              All stores
            </a>
          )}
        </nav>
        <Rail />
        {withTree && <MemoryTree />}
      </div>
    </>
  )
}

function close(): void {
  isDrawerOpen.value = false
}

// The page: without a key it explains how to get one, and holds nothing of the store.

import type { JSX } from 'preact'
import { LocationProvider } from 'preact-iso'
import { sessionState } from './core/session.ts'
import { Stores } from './frame/stores.tsx'

export function App(): JSX.Element | null {
  const state = sessionState.value
  if (state === 'starting') return null
  if (state === 'open') {
    return (
      <LocationProvider>
        <Stores />
      </LocationProvider>
    )
  }
  if (state === 'locked') {
    return <Outside title="Locked" text="The store is closed, and this page is empty." />
  }
  return (
    <Outside
      title="This tab has no key"
      text="An address lets one tab in, once, within a minute of its making."
    />
  )
}

function Outside({ title, text }: { readonly title: string; readonly text: string }): JSX.Element {
  return (
    <main class="outside">
      <h1>{title}</h1>
      <p>{text}</p>
      <p>
        Run <code>gitlocket console</code> in a terminal to open it, or choose{' '}
        <i>Open another tab</i> in a tab that is open still.
      </p>
    </main>
  )
}

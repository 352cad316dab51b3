// The start of the page: trades the token of the address, then draws. Without a key the page
// explains how to get one, and holds nothing of the store.

import { signal } from '@preact/signals'
import { render } from 'preact'
import { LocationProvider, useLocation } from 'preact-iso'
import { useEffect } from 'preact/hooks'
import type { ConsoleStore } from '../../operations/console/subject.ts'
import { addressOf, storeNow } from './core/address.ts'
import { authorization, endSession, sessionState, startSession } from './core/session.ts'
import { jsonOf } from './core/trusted.ts'
import { Frame } from './frame/frame.tsx'
import { markHiddenTexts } from './parts/hidden.tsx'

function App() {
  const state = sessionState.value
  if (state === 'starting') return null
  if (state === 'open') {
    return (
      <LocationProvider>
        <Stores />
      </LocationProvider>
    )
  }
  return (
    <main class="outside">
      <h1>{state === 'locked' ? 'Locked' : 'This tab has no key'}</h1>
      <p>
        {state === 'locked'
          ? 'The store is closed, and this page is empty.'
          : 'An address lets one tab in, once, within a minute of its making.'}
      </p>
      <p>
        Run <code>gitlocket console</code> in a terminal to open it, or choose{' '}
        <i>Open another tab</i> in a tab that is still open.
      </p>
    </main>
  )
}

/** The stores of a server, of which one is chosen; empty for a console of one store. */
const stores = signal<readonly ConsoleStore[] | undefined>(undefined)

function Stores() {
  const { query } = useLocation()
  const { store } = query
  // Before anything is asked.
  if (storeNow.peek() !== store) storeNow.value = store
  const isChoosing = store === undefined
  useEffect(() => {
    if (isChoosing || stores.peek() === undefined) void readStores()
  }, [isChoosing])
  if (stores.value === undefined) return null
  if (stores.value.length === 0 || store !== undefined) return <Frame key={store ?? ''} />
  return (
    <main class="outside">
      <h1>Memory stores</h1>
      <ul class="hits">
        {stores.value.map(({ storeId, name }) => (
          <li key={storeId}>
            <a href={addressOf.store(storeId)}>{name}</a> <span class="dim">{storeId}</span>
          </li>
        ))}
      </ul>
    </main>
  )
}

async function readStores(): Promise<void> {
  const answer = await fetch('/stores', { method: 'POST', headers: authorization() })
  if (!answer.ok) endSession()
  else stores.value = (await jsonOf<{ readonly stores: readonly ConsoleStore[] }>(answer)).stores
}

const place = document.getElementById('page')
if (place !== null) {
  markHiddenTexts()
  void startSession()
  render(<App />, place)
}

// The start of the page: trades the token of the address, then draws. Without a key the page
// explains how to get one, and holds nothing of the store.

import { signal } from '@preact/signals'
import { render } from 'preact'
import { LocationProvider, useLocation } from 'preact-iso'
import { useEffect } from 'preact/hooks'
import type { ConsoleStore } from '../../operations/console/subject.ts'
import { addressOf, storeNow } from './core/address.ts'
import {
  authorization,
  endSession,
  type LockReason,
  lockReason,
  sessionState,
  startSession,
} from './core/session.ts'
import { jsonOf } from './core/trusted.ts'
import { Frame } from './frame/frame.tsx'
import { markHiddenTexts } from './parts/hidden.tsx'
import { Logo } from './parts/icons.tsx'
import { CopiedText } from './parts/labels.tsx'
import { clockTime } from './parts/times.ts'

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
  return state === 'locked' ? <Locked /> : <NoKey />
}

function Locked() {
  const reason = lockReason.value
  return (
    <main class="outside">
      <Logo />
      <h1>Locked</h1>
      <p>{wordsOf(reason)} This page is empty, and nothing of the store is left in it.</p>
      <p>To open it again, run this in a terminal:</p>
      <CopiedText label="the command" text={command()} />
    </main>
  )
}

function wordsOf(reason: LockReason): string {
  if (reason.why === 'user') return 'You locked the console, in this tab or in another one.'
  if (reason.why === 'idle') {
    return `No one has used the console since ${clockTime(reason.since)}, so it locked itself.`
  }
  if (reason.why === 'ended') return 'The program that showed this page has ended.'
  return 'The console no longer knows this tab: it was locked or started again.'
}

/** A server has a console of all its stores. */
function command(): string {
  return typeof stores.peek() === 'object' ? 'gitlocket serve --console' : 'gitlocket console'
}

function NoKey() {
  return (
    <main class="outside">
      <Logo />
      <h1>This tab has no key</h1>
      <p>An address lets one tab in, once, within a minute of its making.</p>
      <p>
        In a tab that is open, choose <i>Open another tab</i>. Or run this in a terminal:
      </p>
      <CopiedText label="the command" text="gitlocket console" />
    </main>
  )
}

/** The stores of a server, of which one is chosen, or a console's only one; undefined before. */
const stores = signal<readonly ConsoleStore[] | 'one' | undefined>(undefined)

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
  if (stores.value === 'one' || store !== undefined) return <Frame key={store ?? ''} />
  return (
    <main class="outside">
      <Logo />
      <h1>Memory stores</h1>
      {stores.value.length === 0 && (
        <p>The server has no store yet. Create one through its API, then reload this page.</p>
      )}
      <ul class="hits">
        {stores.value.map(({ storeId, name }) => (
          <li key={storeId}>
            <a href={addressOf.store(storeId)}>{name}</a>
            <br />
            <code class="dim">{storeId}</code>
          </li>
        ))}
      </ul>
    </main>
  )
}

interface StoresAnswer {
  readonly stores?: readonly ConsoleStore[]
}

async function readStores(): Promise<void> {
  const answer = await fetch('/stores', { method: 'POST', headers: authorization() })
  if (!answer.ok) endSession({ why: 'unknown' })
  else stores.value = (await jsonOf<StoresAnswer>(answer)).stores ?? 'one'
}

const place = document.getElementById('page')
if (place !== null) {
  markHiddenTexts()
  void startSession()
  render(<App />, place)
}

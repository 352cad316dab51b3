// Which store is shown: the only one of a console, or one that is chosen of those of a server.

import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { useLocation } from 'preact-iso'
import { useEffect } from 'preact/hooks'
import type { ConsoleStore } from '../../../api/console/subject.ts'
import { addressOf, storeNow } from '../core/address.ts'
import { authorization, endSession } from '../core/session.ts'
import { jsonOf } from '../core/trusted.ts'
import { Frame } from './frame.tsx'

/** Those to choose from; none of a console that shows one. Undefined until that is known. */
const stores = signal<readonly ConsoleStore[] | undefined>(undefined)

export function Stores(): JSX.Element | null {
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

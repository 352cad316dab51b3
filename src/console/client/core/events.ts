// What happens in the store, as it happens, from a stream that is kept open: other tabs, agents,
// syncs and redactions. After each, whatever is shown is asked for again.

import { signal } from '@preact/signals'
import type { ConsoleEvent } from '../../../api/console/contract.ts'
import { linesOf } from './ask.ts'
import { authorization, endSession, sessionState } from './session.ts'

/** Grows with every change of the store: questions are asked again (use-ask.ts). */
export const revision = signal(0)

/** Changes that come at once are followed once. */
const GATHER_MS = 100

/** Follows the store until the console ends. Never rejects. */
export async function followEvents(): Promise<void> {
  try {
    const answer = await fetch('/events', { method: 'POST', headers: authorization() })
    if (!answer.ok) return endSession('locked')
    for await (const line of linesOf(answer)) {
      const event = JSON.parse(line) as ConsoleEvent
      if (event.type === 'locked') return endSession('locked')
      if (event.type === 'version' || event.type === 'resync') changed()
    }
  } catch {
    // The console is gone, as below.
  }
  if (sessionState.value === 'open') endSession('locked')
}

let gathering: ReturnType<typeof setTimeout> | undefined

/** Also after a change of this page itself, which then does not wait for the stream. */
export function changed(): void {
  gathering ??= setTimeout(() => {
    gathering = undefined
    revision.value += 1
  }, GATHER_MS)
}

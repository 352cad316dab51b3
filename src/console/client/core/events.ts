// What happens in the store, as it happens, from a stream that is kept open: other tabs, agents,
// syncs and redactions. After each, whatever is shown is asked for again.

import { signal } from '@preact/signals'
import type { ConsoleEvent } from '../../../operations/console/contract.ts'
import { linesOf } from './ask.ts'
import { authorization, endSession, isIdle, sessionState } from './session.ts'
import { trusted } from './trusted.ts'

/** Grows with every change of the store: questions are asked again (use-ask.ts). */
export const revision = signal(0)

/** Changes that come at once are followed once. */
const GATHER_MS = 200
/** Where many tabs are open, the stream of the one that has had it longest ends. */
const AGAIN_MS = 1500

/** How many changes the console had seen when this page had its stream last. */
let seen: number | undefined

/** Follows the store until the console ends. Never rejects. */
export async function followEvents(): Promise<void> {
  while (sessionState.value === 'open') {
    try {
      const answer = await fetch('/events', { method: 'POST', headers: authorization() })
      if (!answer.ok) break
      for await (const line of linesOf(answer)) take(trusted(JSON.parse(line)))
    } catch {
      // The console has ended.
      break
    }
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS))
  }
  if (sessionState.value === 'open') endSession({ why: 'ended' })
}

function take(event: ConsoleEvent): void {
  if (event.type === 'locked') {
    const { idleSince } = event
    endSession(idleSince === undefined ? { why: 'user' } : { why: 'idle', since: idleSince })
  } else if (event.type === 'ended') endSession({ why: 'ended' })
  else if (event.type === 'idle') isIdle.value = true
  else if (event.type === 'used') isIdle.value = false
  else if (event.type === 'ready') {
    if (seen !== undefined && seen !== event.changes) changed()
    seen = event.changes
  } else if (event.type !== 'alive') {
    seen = (seen ?? 0) + 1
    changed()
  }
}

let gathering: ReturnType<typeof setTimeout> | undefined

/** Also after a change of this page itself, which then does not wait for the stream. */
export function changed(): void {
  gathering ??= setTimeout(() => {
    gathering = undefined
    revision.value += 1
  }, GATHER_MS)
}

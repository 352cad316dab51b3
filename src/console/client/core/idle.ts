// Tells the console that someone uses it, which else locks itself after a while.

import { authorization } from './session.ts'

const EVERY_MS = 30_000

/** Begins; the function that it gives ends it. */
export function reportUse(): () => void {
  let toldAt = 0
  const tell = (): void => {
    const now = Date.now()
    if (now - toldAt < EVERY_MS) return
    toldAt = now
    // Whether the console is there is seen elsewhere.
    fetch('/used', { method: 'POST', headers: authorization() }).catch(() => undefined)
  }
  const events = ['pointerdown', 'keydown', 'wheel'] as const
  for (const event of events) addEventListener(event, tell, { passive: true })
  return () => {
    for (const event of events) removeEventListener(event, tell)
  }
}

// The key of this tab: traded for the one-time token in the fragment of the address, and kept in
// `sessionStorage`, which no other tab and no other port can read. There is no cookie.

import { signal } from '@preact/signals'
import { storeNow } from './address.ts'
import { jsonOf } from './trusted.ts'

/** What the page is: without a key it can only say how to get one. */
export type SessionState = 'starting' | 'open' | 'locked' | 'no-key'

const STORED = 'gitlocket-console-key'

export const sessionState = signal<SessionState>('starting')

export type LockReason =
  | { readonly why: 'user' | 'ended' | 'unknown' }
  | { readonly why: 'idle'; readonly since: number }

/** Set while the page is locked. */
export const lockReason = signal<LockReason>({ why: 'unknown' })

/** Whether the console locks soon since no one uses it. */
export const isIdle = signal(false)

/** Trades the token of the address, if there is one, and forgets it. */
export async function startSession(): Promise<void> {
  const token = /^#token=([\w-]+)$/.exec(location.hash)?.[1]
  if (token !== undefined) {
    // Before anything else: the address bar, the history and other tabs must not keep it.
    history.replaceState(history.state, '', location.pathname + location.search)
    const key = await trade(token)
    if (key !== undefined) sessionStorage.setItem(STORED, key)
  }
  sessionState.value = sessionStorage.getItem(STORED) === null ? 'no-key' : 'open'
}

/** The key, and the store that the address names, if the console shows several. */
export function authorization(): Readonly<Record<string, string>> {
  const store = storeNow.value
  return {
    authorization: `Bearer ${sessionStorage.getItem(STORED) ?? ''}`,
    ...(store !== undefined && { 'gitlocket-store': store }),
  }
}

const forgetters: (() => void)[] = []

/** Empties state in RAM that no component owns. */
export function forgetAtEnd(forget: () => void): void {
  forgetters.push(forget)
}

/**
 * The console has ended, or it no longer knows this tab: forgets the key and empties the page. A
 * request may fail before the reason arrives.
 */
export function endSession(reason: LockReason): void {
  const isOpen = sessionState.peek() === 'open'
  if (isOpen || reason.why === 'user' || reason.why === 'idle') lockReason.value = reason
  isIdle.value = false
  sessionStorage.clear()
  for (const forget of forgetters) forget()
  sessionState.value = 'locked'
}

/** Closes the store and ends the console, for every tab. */
export async function lock(): Promise<void> {
  try {
    await fetch('/lock', { method: 'POST', headers: authorization() })
  } finally {
    endSession({ why: 'user' })
  }
}

/** Opens a tab of its own with a fresh one-time token. */
export async function openAnotherTab(): Promise<void> {
  // Before the request: a window that is opened later is treated as a pop-up.
  const tab = window.open('about:blank', '_blank')
  const answer = await fetch('/token', { method: 'POST', headers: authorization() })
  if (!answer.ok || tab === null) return
  const { token } = await jsonOf<{ readonly token: string }>(answer)
  tab.opener = null
  tab.location.replace(`${location.pathname}${location.search}#token=${token}`)
}

export function tellUse(): void {
  // Other requests notice the end of the console.
  fetch('/used', { method: 'POST', headers: authorization() }).catch(() => undefined)
}

/** No more often than this. */
const USE_MS = 30_000

/** Tells the console of use, without which it locks itself. Returns how to end that. */
export function reportUse(): () => void {
  let toldAt = 0
  const tell = (): void => {
    const now = Date.now()
    if (now - toldAt < USE_MS) return
    toldAt = now
    tellUse()
  }
  const events = ['pointerdown', 'keydown', 'wheel'] as const
  for (const event of events) addEventListener(event, tell, { passive: true })
  return () => {
    for (const event of events) removeEventListener(event, tell)
  }
}

async function trade(token: string): Promise<string | undefined> {
  const answer = await fetch('/session', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token }),
  })
  if (!answer.ok) return undefined
  return (await jsonOf<{ readonly key: string }>(answer)).key
}

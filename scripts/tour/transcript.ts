// The transcript that the tour replays: sessions of one agent on one software project, each in a
// context that knows of the others only what the memory holds.

import type { Session } from './transcript/call.ts'
import { friday } from './transcript/friday.ts'
import { monday } from './transcript/monday.ts'
import { saturday } from './transcript/saturday.ts'
import { thursday } from './transcript/thursday.ts'
import { tuesday } from './transcript/tuesday.ts'

/** The sessions of ordinary work. */
export const sessions: readonly Session[] = [monday, tuesday, thursday]
/** The sessions in which an attacker decides what the agent remembers; the second has a guard. */
export const poisonedSession: Session = friday
export const guardedSession: Session = saturday

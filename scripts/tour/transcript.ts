// The transcript that the tour replays: sessions of one agent on one software project, each in a
// context that knows nothing of the others but what the memory says.

import type { Session } from './transcript/call.ts'
import { friday } from './transcript/friday.ts'
import { monday } from './transcript/monday.ts'
import { saturday } from './transcript/saturday.ts'
import { thursday } from './transcript/thursday.ts'
import { tuesday } from './transcript/tuesday.ts'

/** The work. */
export const sessions: readonly Session[] = [monday, tuesday, thursday]
/** Then somebody else gets to say what the agent remembers; the last time with a guard. */
export const poisonedSession: Session = friday
export const guardedSession: Session = saturday

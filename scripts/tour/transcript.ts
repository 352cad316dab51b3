// The transcript that the tour replays: three sessions of one agent on one software project, each
// in a context that knows nothing of the others but what the memory says.

import type { Session } from './transcript/call.ts'
import { monday } from './transcript/monday.ts'
import { thursday } from './transcript/thursday.ts'
import { tuesday } from './transcript/tuesday.ts'

export const sessions: readonly Session[] = [monday, tuesday, thursday]

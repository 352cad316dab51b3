// The session of the agent program in which this process runs, by the program's own id, so that
// what the agent writes can be taken back with the id that its user knows. A hook notes the id for
// the process that has started it; the MCP server of the same process finds it there. One process
// has several sessions, one after the other: the newest note counts. No more than a name: what is
// lost or wrong here changes no command.

import { join } from 'node:path'
import { ppid } from 'node:process'
import { toHex, utf8 } from '../../bytes.ts'
import { hash256 } from '../../crypto/digest.ts'
import { atomicWrite, makeDurableDirectory } from '../../disk/disk.ts'
import { ownerOf } from '../../disk/process-owner.ts'
import { systemDisk } from '../../disk/system-disk.ts'
import { StoreError } from '../../errors.ts'
import { actorIdLengthMax } from '../../limits.ts'
import type { AgentEnvironment, Environment } from '../call/environment.ts'
import { inTurn } from './turns.ts'

type StatePlace = Pick<Environment, 'stateDirectory'>

/** Notes of processes; older ones are removed. */
const NOTES_MAX = 200

/** An id that can be recorded (FORMAT §1.2), or undefined. */
export function sessionId(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > actorIdLengthMax) return undefined
  return /^[A-Za-z0-9._:@-]+$/.test(value) ? value : undefined
}

/** Notes that the process that has started this one is in that session now. */
export async function noteAgentSession(place: StatePlace, session: string): Promise<void> {
  const directory = directoryOf(place)
  // A user and a project may each have a hook, and the program runs both at once.
  await inTurn(place, async () => {
    await makeDurableDirectory(systemDisk, directory)
    dropOldest(directory)
    await atomicWrite(systemDisk, noteOf(place), utf8(session))
  })
}

/**
 * The session of the agent program that has started this process, as the last hook of that program
 * has noted it, or else as it was when this process began. Undefined if no one knows. It may change
 * at any time: ask before each change.
 */
export function findAgentSession(place: StatePlace, agents: AgentEnvironment): string | undefined {
  return findNote(place) ?? sessionId(agents.session)
}

function findNote(place: StatePlace): string | undefined {
  try {
    const bytes = systemDisk.readFile(noteOf(place), actorIdLengthMax)
    return bytes === undefined ? undefined : sessionId(Buffer.from(bytes).toString('latin1'))
  } catch (error) {
    if (error instanceof StoreError) return undefined
    throw error
  }
}

function dropOldest(directory: string): void {
  const notes = systemDisk.list(directory).map((name) => {
    const path = join(directory, name)
    return { path, time: systemDisk.stat(path)?.mtimeMs ?? 0 }
  })
  const newestFirst = notes.toSorted((a, b) => b.time - a.time)
  for (const { path } of newestFirst.slice(NOTES_MAX - 1)) systemDisk.remove(path)
}

function directoryOf({ stateDirectory }: StatePlace): string {
  return join(stateDirectory, 'agent-sessions')
}

/** Process ids are reused, also by another machine with the same home: a hash tells them apart. */
function noteOf(place: StatePlace): string {
  const owner = ownerOf(ppid)
  return join(directoryOf(place), toHex(hash256(utf8(JSON.stringify(owner)))))
}

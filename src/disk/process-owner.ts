// Which process holds a lock, and whether it still runs. Its socket tells, from any container.
// Where there is none, the process id tells with start time and boot id, since an id alone is
// reused. Must only read: it decides nothing about locks. Elsewhere than on Linux the process id
// alone is compared.

import { readFileSync, readlinkSync } from 'node:fs'
import { kill, pid } from 'node:process'
import { askAt, type Life } from './life-socket.ts'

/** Fields are '' where the platform does not tell. */
export interface ProcessOwner {
  readonly pid: number
  /** In clock ticks after boot. */
  readonly startTime: string
  readonly bootId: string
  /** The process id namespace: process ids of another container mean nothing here. */
  readonly namespace: string
}

let self: ProcessOwner | undefined

/** This process. Read once. */
export function thisProcess(): ProcessOwner {
  self ??= {
    pid,
    startTime: startTimeOf('self') ?? '',
    bootId: orEmpty(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()),
    namespace: orEmpty(() => readlinkSync('/proc/self/ns/pid')),
  }
  return self
}

/**
 * Whether the process still runs. `socket` is the path at which it listens, if it may be asked
 * there. 'ended' is certain: taking a lock from a live process loses data.
 */
export async function lifeOf(owner: ProcessOwner, socket: string | undefined): Promise<Life> {
  const here = thisProcess()
  if (differ(owner.bootId, here.bootId)) return 'ended'
  const told = socket === undefined ? undefined : await askAt(socket)
  if (told !== undefined) return told
  if (owner.namespace !== here.namespace) return 'unknown'
  return isListed(owner) ? 'living' : 'ended'
}

/** Among the processes of this container. */
function isListed(owner: ProcessOwner): boolean {
  if (thisProcess().startTime !== '') return startTimeOf(String(owner.pid)) === owner.startTime
  try {
    kill(owner.pid, 0)
    return true
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH')
  }
}

/** Where the platform does not tell, they may be the same. */
function differ(bootId: string, other: string): boolean {
  return bootId !== '' && other !== '' && bootId !== other
}

/**
 * Field 22 of /proc/<pid>/stat, counted after the command name, which may hold anything. A killed
 * process that nobody has waited for yet (state Z) runs no more.
 */
function startTimeOf(process: string): string | undefined {
  const text = orEmpty(() => readFileSync(`/proc/${process}/stat`, 'latin1'))
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19]
}

function orEmpty(read: () => string): string {
  try {
    return read()
  } catch {
    return ''
  }
}

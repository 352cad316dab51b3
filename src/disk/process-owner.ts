// Which process holds a lock, and whether it still runs: by its socket from any container, else by
// its process id with start time and boot id, since process ids are reused. On other platforms than
// Linux, the process id alone is compared. Must only read: it decides nothing about locks.

import { readFileSync, readlinkSync } from 'node:fs'
import { kill, pid } from 'node:process'
import { askAt, type Life } from './life-socket.ts'

/** Fields are '' where the platform does not provide them. */
export interface ProcessOwner {
  readonly pid: number
  readonly startTime: string
  readonly bootId: string
  /** The process id namespace: another container's process ids mean nothing here. */
  readonly namespace: string
}

let self: ProcessOwner | undefined

export function thisProcess(): ProcessOwner {
  self ??= {
    pid,
    startTime: startTimeOf('self') ?? '',
    bootId: orEmpty(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()),
    namespace: orEmpty(() => readlinkSync('/proc/self/ns/pid')),
  }
  return self
}

/** The identity of another process that runs in this container. */
export function ownerOf(other: number): ProcessOwner {
  return { ...thisProcess(), pid: other, startTime: startTimeOf(String(other)) ?? '' }
}

/**
 * Whether the process still runs. `socket` is its socket, if it can be reached from here. 'ended'
 * is certain: breaking the lock of a live process loses data.
 */
export async function lifeOf(owner: ProcessOwner, socket: string | undefined): Promise<Life> {
  const here = thisProcess()
  if (differ(owner.bootId, here.bootId)) return 'ended'
  const life = socket === undefined ? undefined : await askAt(socket)
  if (life !== undefined) return life
  if (owner.namespace !== here.namespace) return 'unknown'
  return isListed(owner) ? 'living' : 'ended'
}

function isListed(owner: ProcessOwner): boolean {
  if (thisProcess().startTime !== '') return startTimeOf(String(owner.pid)) === owner.startTime
  try {
    kill(owner.pid, 0)
    return true
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH')
  }
}

/** Where the platform provides no boot id, they may be equal. */
function differ(bootId: string, other: string): boolean {
  return bootId !== '' && other !== '' && bootId !== other
}

/**
 * Field 22 of /proc/<pid>/stat, counted after the command name, which may contain anything. A
 * killed process whose parent has not waited for it (state Z) no longer runs.
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

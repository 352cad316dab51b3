// Which process holds a lock, and whether it still runs. A process id alone is reused; id, start
// time and boot id together are not. Must only read: it decides nothing about locks.
// Elsewhere than on Linux the process id alone is compared.

import { readFileSync, readlinkSync } from 'node:fs'
import { kill, pid } from 'node:process'

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
 * Whether the process may still run. In doubt it does: taking a lock from a live process loses
 * data, waiting for a dead one loses time.
 */
export function isLiveProcess(owner: ProcessOwner): boolean {
  const here = thisProcess()
  if (owner.bootId !== here.bootId) return false
  if (owner.namespace !== here.namespace) return true
  if (here.startTime !== '') return startTimeOf(String(owner.pid)) === owner.startTime
  try {
    kill(owner.pid, 0)
    return true
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH')
  }
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

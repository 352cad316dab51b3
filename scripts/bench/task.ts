// One long task on a store in a separate process, so that its peak of memory is its own and caches
// are as cold as for a user. task-child.ts is the other side.

import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { BareRequest } from './bare-cryptography.ts'
import type { Places } from './contenders/product.ts'
import { findVersion, run } from './machine.ts'
import { atMost, type Bound } from './report.ts'
import { bytes } from './statistics.ts'
import type { Task, TaskAnswer, TaskRequest } from './task-child.ts'

const memoryMax = 400e6

/** With `oneCore` the process is bound to one processor, if the system supports that. */
export function runTask(
  { directory, stateDirectory }: Places,
  identityFile: string,
  task: Task,
  oneCore = false,
): TaskAnswer {
  const module = fileURLToPath(new URL('task-child.js', import.meta.url))
  const request: TaskRequest = { directory, stateDirectory, identityFile, task }
  const command = [process.execPath, module, JSON.stringify(request)]
  const [program = '', ...args] = oneCore ? [...heldToOneCore(), ...command] : command
  const answer: TaskAnswer = JSON.parse(run(program, args, { cwd: directory }).toString())
  return answer
}

/** Commits per second that their cryptography alone allows, of all threads together. */
export function bareCryptography(request: BareRequest, oneCore: boolean): number {
  const module = fileURLToPath(new URL('bare-cryptography.js', import.meta.url))
  const command = [process.execPath, module, JSON.stringify(request)]
  const [program = '', ...args] = oneCore ? [...heldToOneCore(), ...command] : command
  const rate: number = JSON.parse(run(program, args, { cwd: tmpdir() }).toString())
  return rate
}

function heldToOneCore(): readonly string[] {
  return findVersion('taskset') === undefined ? [] : ['taskset', '--cpu-list', '0']
}

export function memoryBound(what: string, rssMax: number): Bound {
  return atMost(`memory of the process: ${what}`, rssMax, memoryMax, bytes)
}

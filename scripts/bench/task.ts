// One long piece of work on a store, done in a process of its own: only there is its peak of memory
// its own, and nothing is warm that would be cold. task-child.ts is the other side.

import { fileURLToPath } from 'node:url'
import type { Places } from './contenders/product.ts'
import { findVersion, run } from './machine.ts'
import { atMost, type Bound } from './report.ts'
import { bytes } from './statistics.ts'
import type { Task, TaskAnswer, TaskRequest } from './task-child.ts'

const memoryMax = 400e6

/** With `oneCore` the process is held to one processor, where the system can do that. */
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

function heldToOneCore(): readonly string[] {
  return findVersion('taskset') === undefined ? [] : ['taskset', '--cpu-list', '0']
}

export function memoryBound(what: string, rssMax: number): Bound {
  return atMost(`memory of the process: ${what}`, rssMax, memoryMax, bytes)
}

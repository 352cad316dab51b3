// Processes in containers, as far as locks are concerned: process ids of their own, which begin
// with 1, and the same files. Needs the right to make name spaces, which root has unless it is in a
// container itself.

import { type ChildProcessByStdio, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { kill } from 'node:process'
import type { Readable } from 'node:stream'
import { onTestFinished } from 'vitest'
import type { Requirement } from './tools.ts'

const unshare = ['--pid', '--fork', '--kill-child', '--mount', '--mount-proc']

export const containers: Requirement = look()

function look(): Requirement {
  const { status } = spawnSync('unshare', [...unshare, 'true'])
  const missing = status !== 0
  return { missing, note: missing ? ' (skipped: needs the right to make a pid namespace)' : '' }
}

export interface Contained {
  /** The lines that it has printed. */
  readonly lines: () => readonly string[]
  /** Resolves once it has printed this line; throws if it ends before. */
  readonly printed: (line: string) => Promise<void>
  /** Sends a signal to the program itself. */
  readonly signal: (name: NodeJS.Signals) => void
  /** Keeps its namespace's number from being given to another one, until the test ends. */
  readonly keepNumber: () => void
  /** The exit code; null after SIGKILL. Nothing of it runs any more then. */
  readonly ended: Promise<number | null>
}

/** Runs `node <words>` as process 1 of a container of its own. */
export function runContained(words: readonly string[]): Contained {
  const child = spawn('unshare', [...unshare, process.execPath, ...words], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  let errors = ''
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString()
  })
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString()
  })
  // Its output ends when its last process has.
  const ended = once(child, 'close').then(() => child.exitCode)
  const lines = (): string[] => output.split('\n').slice(0, -1)
  return {
    lines,
    printed: async (line) => {
      while (!lines().includes(line)) {
        const more = await Promise.race([once(child.stdout, 'data'), ended.then(() => undefined)])
        if (more === undefined && !lines().includes(line)) {
          throw new Error(`It ended:\n${output}${errors}`)
        }
      }
    },
    signal: (name) => kill(insideOf(child), name),
    keepNumber: () => {
      const fd = openSync(`/proc/${insideOf(child)}/ns/pid`, 'r')
      onTestFinished(() => closeSync(fd))
    },
    ended,
  }
}

/** The process id, as we see it, of the one process that `unshare` has started. */
function insideOf({ pid }: ChildProcessByStdio<null, Readable, Readable>): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim())
}

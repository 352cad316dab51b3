// Long answers: through a pager on a terminal, straight to standard output elsewhere, piece by
// piece. Plaintext reaches the pager through a pipe only, and less is told to write no file.

import { type ChildProcess, spawn } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import { CommandError } from './command-error.ts'
import type { Context } from './context.ts'
import { type Environment, variablesWith } from './environment.ts'

/** Resolves to false once nobody reads any more. The text must be safe for a terminal. */
export type Write = (text: string) => Promise<boolean>

const PAGER = 'less -FRX'
/** What a shell answers for a program that it cannot run or find. */
const notStarted: ReadonlySet<number | null> = new Set([126, 127])

/** Runs `work` with a way to write the answer, and returns when the reader has seen it. */
export async function withPager(
  context: Context,
  work: (write: Write) => Promise<void>,
): Promise<void> {
  const command = pagerCommand(context.environment)
  if (command === undefined) return work((text) => writeTo(process.stdout, text))
  // Ctrl-C is the pager's: it stops what it is doing, and its user leaves it with q.
  await context.interrupts.ignoring(() => page(command, work))
}

async function page(command: string, work: (write: Write) => Promise<void>): Promise<void> {
  const child = spawn('/bin/sh', ['-c', command], {
    stdio: ['pipe', 'inherit', 'inherit'],
    env: pagerVariables(),
  })
  const end = endOf(child)
  // Leaving the pager early is no failure.
  child.stdin.on('error', () => undefined)
  try {
    await work((text) => writeTo(child.stdin, text))
  } finally {
    child.stdin.end()
    await end
  }
  if (!notStarted.has(await end)) return
  throw new CommandError(
    'invalid_input',
    `The pager "${command}" could not be started`,
    'Set GITLOCKET_PAGER to one that is there, or to cat for none',
  )
}

function pagerVariables(): NodeJS.ProcessEnv {
  const { LESS = 'FRX', LV = '-c' } = variablesWith({})
  // Its history keeps what was searched for, and its keys can write files and run programs.
  return variablesWith({ LESS, LV, LESSHISTFILE: '-', LESSSECURE: '1' })
}

/** Undefined where there is no terminal, no pager, or none is wanted. */
function pagerCommand({ terminal, pager, searchPath }: Environment): string | undefined {
  if (!terminal.capable || pager === 'cat') return undefined
  return pager ?? (isProgram('less', searchPath) ? PAGER : undefined)
}

function isProgram(name: string, searchPath: string): boolean {
  return searchPath.split(':').some((directory) => {
    try {
      accessSync(join(directory, name), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

/** The exit status; null after a signal. */
function endOf(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve) => {
    child.once('error', () => resolve(127))
    child.once('close', (status) => resolve(status))
  })
}

/** Waits while the reader is slower than we are. */
async function writeTo(stream: Writable, text: string): Promise<boolean> {
  if (!stream.writable) return false
  if (stream.write(text)) return true
  await new Promise<void>((resolve) => {
    const go = (): void => {
      stream.off('drain', go).off('close', go)
      resolve()
    }
    stream.on('drain', go).on('close', go)
  })
  return stream.writable
}

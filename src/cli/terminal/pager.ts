// Writes long answers piece by piece: to a pager on a terminal, else to standard output. Plaintext
// reaches the pager through a pipe only, and less is configured to write no file.

import { spawn, type ChildProcess } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import { CommandError, type Context } from '../call/command.ts'
import { type Environment, variablesWith } from '../call/environment.ts'

/** Resolves to false once the reader has closed. The text must be safe for a terminal. */
export type Write = (text: string) => Promise<boolean>

const PAGER = 'less -FRX'
/** The shell's exit codes for a program that it cannot run or find. */
const notStarted: ReadonlySet<number | null> = new Set([126, 127])

/** Runs `work` with a function that writes the answer. Resolves when the pager has ended. */
export async function withPager(
  context: Pick<Context, 'environment' | 'interrupts'>,
  work: (write: Write) => Promise<void>,
): Promise<void> {
  const command = pagerCommand(context.environment)
  if (command === undefined) return work((text) => writeTo(process.stdout, text))
  // Ctrl-C is left to the pager, which stops its current action; q ends it.
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
    'Set GITLOCKET_PAGER to an installed pager, or to cat for none',
  )
}

function pagerVariables(): NodeJS.ProcessEnv {
  const { LESS = 'FRX', LV = '-c' } = variablesWith({})
  // The history of less keeps search terms, and its keys can write files and run programs.
  return variablesWith({ LESS, LV, LESSHISTFILE: '-', LESSSECURE: '1' })
}

/** Undefined without a terminal or a pager, or if none is wanted. */
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

/** Waits while the reader is slower than the writer. False once the reader has closed. */
export async function writeTo(stream: Writable, text: string): Promise<boolean> {
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

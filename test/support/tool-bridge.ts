// A program that answers one line of JSON for each line that it gets, such as
// `gitlocket tool --stream`.

import type { ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'

export interface LineProgram {
  readonly child: ChildProcess
  /** The next line of its standard output; rejects if it ends before. */
  readonly next: () => Promise<string>
  /** The answer to one line. */
  readonly ask: (line: string) => Promise<string>
}

export function lineProgram(child: ChildProcess): LineProgram {
  const { stdin, stdout } = child
  if (stdin === null || stdout === null) throw new Error('the program has pipes')
  // Errors of a program that has ended; `next` reports them.
  stdin.on('error', () => undefined)
  const lines = createInterface({ input: stdout, crlfDelay: Number.POSITIVE_INFINITY })
  const iterator = lines[Symbol.asyncIterator]()
  const next = async (): Promise<string> => {
    const { value, done } = await iterator.next()
    if (done === true) throw new Error('the program has ended')
    return value
  }
  return {
    child,
    next,
    ask: (line) => {
      stdin.write(`${line}\n`)
      return next()
    },
  }
}

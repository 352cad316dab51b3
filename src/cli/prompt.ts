// Asks for secrets on a terminal, without echo. Off a terminal there is no prompt, ever: the
// caller gets an error that names the variable to set instead.

import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { StoreError } from '../errors.ts'
import { CommandError } from './command.ts'
import type { Context } from './context.ts'

/** One line, not echoed. `variable` names the file variable that works off a terminal. */
export async function askSecret(
  context: Context,
  question: string,
  variable: string,
): Promise<string> {
  if (!canAsk(context)) {
    throw new CommandError(
      'invalid_input',
      `${question} is needed, and there is no terminal to ask on`,
      `Put it into a file and set ${variable} to its path`,
    )
  }
  process.stderr.write(`${question}: `)
  try {
    return await readHiddenLine(context.interrupts.signal)
  } finally {
    process.stderr.write('\n')
  }
}

/** A new secret, asked for twice. Throws `invalid_input` if the two differ. */
export async function askNewSecret(
  context: Context,
  question: string,
  variable: string,
): Promise<string> {
  const first = await askSecret(context, question, variable)
  const second = first === '' ? '' : await askSecret(context, 'The same again', variable)
  if (first === second) return first
  throw new StoreError('invalid_input', 'The two inputs differ; nothing was changed')
}

export function canAsk(context: Context): boolean {
  const { input, errors } = context.environment.terminal
  return input && errors
}

function readHiddenLine(signal: AbortSignal): Promise<string> {
  // readline edits the line and echoes into a stream that forgets it.
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const reader = createInterface({ input: process.stdin, output: nowhere, terminal: true, signal })
  return new Promise((resolve, reject) => {
    reader.once('line', (line) => {
      resolve(line)
      reader.close()
    })
    // Ctrl-C and Ctrl-D both close; after a line this comes too late to matter.
    reader.once('SIGINT', () => reader.close())
    reader.once('close', () => reject(new StoreError('cancelled', 'Cancelled')))
  })
}

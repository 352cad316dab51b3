// Asks on a terminal: for secrets without echo, and for decisions. Off a terminal it never prompts:
// the caller gets an error that names the variable or option to use instead.

import { on } from 'node:events'
import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { hasCode, StoreError } from '../../errors.ts'
import { visible } from '../../text/visible.ts'
import { CommandError, type Context, type Input } from '../call/command.ts'

/** One line, not echoed. `variable` names the file variable that works off a terminal. */
export function askSecret(context: Context, question: string, variable: string): Promise<string> {
  checkCanAsk(context, question, variable)
  return withHiddenInput(context, (ask) => ask(question))
}

/** How often a new secret may be typed before the command fails. */
const ATTEMPTS = 3

/**
 * A new secret, asked for twice; `check` throws after the first time if it cannot be one. A mistake
 * may be made again: the last one is thrown, `invalid_input` if the two differ.
 */
export function askNewSecret(
  context: Context,
  question: string,
  variable: string,
  check: (secret: string) => void,
): Promise<string> {
  checkCanAsk(context, question, variable)
  return withHiddenInput(context, async (ask) => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const first = await ask(question)
        check(first)
        const second = first === '' ? '' : await ask('The same again')
        if (first === second) return first
        throw new StoreError('invalid_input', 'The two inputs differ; nothing was changed')
      } catch (error) {
        if (!hasCode(error, 'invalid_input') || attempt === ATTEMPTS) throw error
        process.stderr.write(`${error.message.replace('; nothing was changed', '')}. Try again.\n`)
      }
    }
  })
}

/** One line, as it is typed, without the white space around it. Call if `canAsk`. */
export async function askLine(context: Context, question: string): Promise<string> {
  const { signal } = context.interrupts
  const reader = createInterface({ input: process.stdin, output: process.stderr, signal })
  try {
    return await new Promise((resolve, reject) => {
      const cancel = (): void => reject(new StoreError('cancelled', 'Cancelled'))
      reader.once('SIGINT', cancel)
      reader.once('close', cancel)
      reader.question(visible(`${question} `), (line) => resolve(line.trim()))
    })
  } finally {
    reader.close()
  }
}

/** Something that destroys, and so needs the consent of a user. */
export interface Destruction {
  /** A clause that follows on from it: `3 versions would be erased`. */
  readonly would: string
  /** The question on a terminal. */
  readonly question: string
  /** What to do for those who want to know more. Default: there is nothing. */
  readonly preview?: string
}

/** Returns once the user agrees, or has agreed by --yes. Throws `cancelled` or `invalid_input`. */
export async function confirm(
  context: Context,
  input: Input,
  destruction: Destruction,
): Promise<void> {
  if (input.flag('yes')) return
  checkCanConfirm(context, destruction)
  if (!(await askYes(context, destruction.question))) throw declined(destruction)
}

/** Throws `invalid_input` off a terminal, where only --yes shows the consent of a user. */
export function checkCanConfirm(
  context: Context,
  { would, preview }: Pick<Destruction, 'would' | 'preview'>,
): void {
  if (canAsk(context)) return
  const message = `${would}, and there is no terminal to ask on`
  const first = preview === undefined ? 'Add' : `${preview}; add`
  throw new CommandError('invalid_input', message, `${first} --yes to continue`)
}

/** The error for a user who declines. */
export function declined({ preview }: Pick<Destruction, 'preview'>): CommandError {
  const first = preview === undefined ? '' : `${preview}; `
  const hint = `${first}--yes does it without asking`
  return new CommandError('cancelled', 'Cancelled; nothing was changed', hint)
}

/** Whether the answer is yes. Anything else, an empty line too, is no. */
export async function askYes(context: Context, question: string): Promise<boolean> {
  return /^y(?:es)?$/i.test(await askLine(context, `${question} [y/N]`))
}

export function canAsk(context: Context): boolean {
  const { input, errors } = context.environment.terminal
  return input && errors
}

function checkCanAsk(context: Context, question: string, variable: string): void {
  if (canAsk(context)) return
  throw new CommandError(
    'invalid_input',
    `${question} is needed, and there is no terminal to ask on`,
    `Put it into a file and set ${variable} to its path`,
  )
}

/**
 * The echo is off from before the first question until after the last answer, so that input that
 * is typed ahead or pasted does not show either.
 */
async function withHiddenInput<T>(
  { interrupts }: Context,
  work: (ask: (question: string) => Promise<string>) => Promise<T>,
): Promise<T> {
  const { signal } = interrupts
  // readline edits the line and echoes into a stream that discards it.
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const reader = createInterface({ input: process.stdin, output: nowhere, terminal: true, signal })
  const lines = on(reader, 'line', { close: ['close'] })
  // Raw mode turns Ctrl-C into a key; Ctrl-D closes by itself.
  reader.once('SIGINT', () => reader.close())
  try {
    return await work(async (question) => {
      process.stderr.write(visible(`${question}: `))
      const next = await lines.next()
      process.stderr.write('\n')
      if (next.done === true) throw new StoreError('cancelled', 'Cancelled')
      return String(next.value[0])
    })
  } finally {
    reader.close()
  }
}

// A verb of the command line, described once, so that parsing, help and docs/CLI.md cannot
// disagree, and its arguments, context and errors. Decides nothing about the store, never prints.

import type { Clock } from '../../clock.ts'
import { assert, type ErrorCode, type ErrorDetails, hasCode, StoreError } from '../../errors.ts'
import type { Credentials } from '../../transport/remote-access.ts'
import type { Environment } from './environment.ts'

/** What each option does, by how help shows it: `-n, --limit <number>`, `--color <auto|never>`. */
export type OptionTexts = Readonly<Record<string, string>>

export interface Command {
  /** One word or two, such as `key show`. */
  readonly name: string
  /** Its other names, from the table. */
  readonly aliases?: readonly string[]
  readonly summary: string
  /** The arguments, as help shows them: `<path> [-]`, or `[<version>…]` for any number. */
  readonly usage?: string
  readonly options?: OptionTexts
  /** Paragraphs of help. */
  readonly notes?: readonly string[]
  /** It may destroy something: no typing error may reach it. */
  readonly destroys?: true
  run(context: Context, input: Input): Answer | Promise<Answer>
}

/** The answer of a command. `program.ts` alone prints it. */
export interface Answer {
  /** For users; printed unchanged, so it ends in a newline unless it is a memory's content. */
  readonly text: string
  /** The text came from an Ink: it is safe for a terminal unchanged, colours included. */
  readonly inked?: true
  /** On a terminal the text is shown by the pager. */
  readonly paged?: boolean
  /** For programs: with `--json` this value is printed instead. */
  readonly json: unknown
  /** A remark for users, on standard error. */
  readonly note?: string | undefined
  /** Failures in addition to the answer; printed to standard error as errors are. */
  readonly failures?: readonly unknown[]
  /** The default is 0. */
  readonly exitCode?: number
}

export interface Context {
  readonly environment: Environment
  readonly interrupts: Interrupts
  readonly clock: Clock
  /** Times are written exactly, in UTC: in a pipe, and with --utc. */
  readonly exactTimes: boolean
  /** Remarks to print after the answer of any command. */
  readonly notices: string[]
  /** Errors for commits that were written and not sent: the command exits with 13 then. */
  readonly unsent: unknown[]
  /** What hosts have accepted of this process, by address. */
  readonly accepted: Map<string, Credentials>
  /** The `http.proxy` of git, as it was read by this process, by address. */
  readonly proxies: Map<string, string | undefined>
  /** Loads all commands. */
  readonly commands: () => Promise<readonly Command[]>
}

/** Signals, and cleanup however the process ends (terminal/interrupts.ts). */
export interface Interrupts {
  /** Aborted by the first Ctrl-C. The reason is a StoreError `cancelled`. */
  readonly signal: AbortSignal
  /**
   * While `work` runs, the first Ctrl-C leaves it all the time that it needs to stop and to report
   * where. A second one ends the process immediately and prints `ending`.
   */
  patiently<T>(ending: string, work: () => Promise<T>): Promise<T>
  /** Like `patiently`, for work that runs until Ctrl-C or SIGTERM ends it. */
  untilStopped<T>(ending: string, work: () => Promise<T>): Promise<T>
  /** While `work` runs, Ctrl-C is left to another program, such as an editor. */
  ignoring<T>(work: () => Promise<T>): Promise<T>
  /** Runs `cleanup` when the process ends, except by kill -9. Returns a function to run it now. */
  atExit(cleanup: () => void): () => void
}

export interface Positional {
  readonly name: string
  readonly isOptional: boolean
  /** Takes all arguments that follow as well. */
  readonly isRepeated: boolean
}

export function positionalsOf({ usage = '' }: Command): readonly Positional[] {
  return (usage.match(/\S+/g) ?? []).map((word) => ({
    name: word.replaceAll(/[[\]<>…]/g, ''),
    isOptional: word.startsWith('['),
    isRepeated: word.includes('…'),
  }))
}

export interface Option {
  readonly name: string
  /** A letter, for `-h`. */
  readonly short: string | undefined
  /** What the option takes; undefined for a flag. */
  readonly value: string | undefined
  /** The only values allowed. */
  readonly choices: readonly string[] | undefined
  readonly summary: string
}

export function optionsOf(options: OptionTexts = {}): readonly Option[] {
  return Object.entries(options).map(([spec, summary]) => {
    const [, short, name = '', value] = /^(?:-(\w), )?--([\w-]+)(?: <(.+)>)?$/.exec(spec) ?? []
    assert(name !== '', 'an option is not described as help shows it')
    const choices = value?.includes('|') === true ? value.split('|') : undefined
    return { name, short, value, choices, summary }
  })
}

/** Whether an argument or a value that help describes so, as `new-path`, is a path. */
function isPath(described: string | undefined): boolean {
  return described?.split('-').includes('path') === true
}

/** The arguments of one call, checked against the command's description. */
export class Input {
  readonly #positionals: readonly string[]
  readonly #values: ReadonlyMap<string, readonly string[]>
  readonly #flags: ReadonlySet<string>

  constructor(
    positionals: readonly string[],
    values: ReadonlyMap<string, readonly string[]>,
    flags: ReadonlySet<string>,
  ) {
    this.#positionals = positionals
    this.#values = values
    this.#flags = flags
  }

  /** The values of arguments and options that are paths of the store, or may be. */
  paths(command: Command): readonly string[] {
    const positionals = positionalsOf(command)
    const given = this.#positionals.filter((_, index) => isPath(positionals[index]?.name))
    const options = optionsOf(command.options).filter(({ value }) => isPath(value))
    return [...given, ...options.flatMap(({ name }) => this.texts(name))]
  }

  /** The same call with other paths. */
  withPaths(command: Command, change: (path: string) => string): Input {
    const positionals = positionalsOf(command)
    const changed = this.#positionals.map((text, index) => {
      return isPath(positionals[index]?.name) ? change(text) : text
    })
    const values = new Map(this.#values)
    for (const { name, value } of optionsOf(command.options)) {
      if (isPath(value) && values.has(name)) values.set(name, this.texts(name).map(change))
    }
    return new Input(changed, values, this.#flags)
  }

  /** A positional that the description requires. */
  argument(index: number): string {
    const value = this.#positionals[index]
    assert(value !== undefined, 'a required argument was not checked')
    return value
  }

  findArgument(index: number): string | undefined {
    return this.#positionals[index]
  }

  /** All positionals from `index` on. */
  arguments(index: number): readonly string[] {
    return this.#positionals.slice(index)
  }

  /** Of an option that is given more than once, the last one. */
  text(option: string): string | undefined {
    return this.texts(option).at(-1)
  }

  /** All that were given, in their order. */
  texts(option: string): readonly string[] {
    return this.#values.get(option) ?? []
  }

  /** What `parse` makes of the text of an option; undefined without it. */
  parsed<T>(option: string, parse: (text: string) => T): T | undefined {
    const text = this.text(option)
    return text === undefined ? undefined : parse(text)
  }

  flag(option: string): boolean {
    return this.#flags.has(option)
  }

  /** A decimal integer within bounds. Throws `invalid_input`. */
  integer(option: string, least: number, most: number): number | undefined {
    return this.parsed(option, (text) => {
      const value = /^-?\d{1,15}$/.test(text) ? Number(text) : Number.NaN
      if (value >= least && value <= most) return value
      const bounds = `an integer from ${least} to ${most}`
      throw new StoreError('invalid_input', `--${option} must be ${bounds}`)
    })
  }
}

export interface CommandErrorOptions {
  /** Text that must not be lost; printed to standard output before the error is reported. */
  readonly output?: string
  /** Printed instead of the store's path, if the failure is about something else. */
  readonly place?: string
  /** Machine-readable facts in addition to the details. */
  readonly facts?: Readonly<Record<string, unknown>>
  readonly details?: ErrorDetails | undefined
  readonly cause?: unknown
}

/** A failure with a more specific hint, a sentence, than the table of codes has. */
export class CommandError extends StoreError {
  readonly hint: string
  readonly output: string
  readonly place: string | undefined
  readonly facts: Readonly<Record<string, unknown>>

  constructor(code: ErrorCode, message: string, hint: string, options: CommandErrorOptions = {}) {
    const { output = '', place, facts = {}, details = {}, cause } = options
    super(code, message, { details, cause })
    this.hint = hint
    this.output = output
    this.place = place
    this.facts = facts
  }
}

export function usageError(message: string, verb?: string, details?: ErrorDetails): CommandError {
  const help = verb === undefined ? 'gitlocket --help' : `gitlocket ${verb} --help`
  return new CommandError('invalid_input', message, `\`${help}\` shows the options`, { details })
}

/** For a command that the holder of a grant cannot run. */
export function deviceError(): CommandError {
  return new CommandError(
    'permission_denied',
    'A grant is for reading and changing memories alone: this takes a device of the store',
    'Run it on a device of the store, or unset GITLOCKET_GRANT and GITLOCKET_GRANT_FILE',
  )
}

/** For a document about a store, whose signer may be known by the key of an option. */
export function ofAnotherStore(error: unknown, option: string): unknown {
  if (!hasCode(error, 'store_id_mismatch')) return error
  const hint = `--store names another store; --${option} needs none, but a key that you know`
  return new CommandError(error.code, error.message, hint)
}

// A verb of the command line: its name, arguments, options and code, described once, so
// that parsing, help and docs/CLI.md cannot disagree. table.ts holds the verbs themselves.
// Decides nothing about the store, and never prints.

import { assert, StoreError } from '../../errors.ts'
import type { Context } from './context.ts'

export interface Positional {
  readonly name: string
  readonly optional?: boolean
  /** Takes all arguments that follow as well; only the last positional can. */
  readonly repeated?: boolean
}

export interface Option {
  readonly name: string
  /** A letter, for `-h`. */
  readonly short?: string
  /** What the option takes, as help shows it; absent for a flag. */
  readonly value?: string
  /** The only values allowed. */
  readonly choices?: readonly string[]
  readonly summary: string
}

/** The answer of a command. `program.ts` alone prints it. */
export interface Answer {
  /** For users; printed unchanged, so it ends in a newline unless it is a memory's content. */
  readonly text: string
  /** The text came from an Ink: it is safe for a terminal unchanged, colours included. */
  readonly inked?: true
  /** On a terminal the text is shown by the pager. */
  readonly paged?: true
  /** For programs: with `--json` this value is printed instead. */
  readonly json: unknown
  /** A remark for users, on standard error. */
  readonly note?: string
  /** Failures in addition to the answer; printed to standard error as errors are. */
  readonly failures?: readonly unknown[]
  /** The default is 0. */
  readonly exitCode?: number
}

export interface Command {
  /** One word or two, such as `key show`. */
  readonly name: string
  readonly aliases?: readonly string[]
  readonly summary: string
  readonly positionals: readonly Positional[]
  readonly options: readonly Option[]
  /** Paragraphs of help. */
  readonly notes?: readonly string[]
  /** It may destroy something: no typing error may reach it. */
  readonly destroys?: true
  run(context: Context, input: Input): Promise<Answer>
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
  paths({ positionals, options }: Command): readonly string[] {
    const given = this.#positionals.filter((_, index) => isPath(positionals[index]?.name))
    return [
      ...given,
      ...options.flatMap(({ name, value }) => (isPath(value) ? this.texts(name) : [])),
    ]
  }

  /** The same call with other paths. */
  withPaths({ positionals, options }: Command, change: (path: string) => string): Input {
    const changed = this.#positionals.map((text, index) => {
      return isPath(positionals[index]?.name) ? change(text) : text
    })
    const values = new Map(this.#values)
    for (const { name, value } of options) {
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

  flag(option: string): boolean {
    return this.#flags.has(option)
  }

  /** A decimal integer within bounds. Throws `invalid_input`. */
  integer(option: string, least: number, most: number): number | undefined {
    const text = this.text(option)
    if (text === undefined) return undefined
    const value = /^-?\d{1,15}$/.test(text) ? Number(text) : Number.NaN
    if (value >= least && value <= most) return value
    throw new StoreError('invalid_input', `--${option} must be an integer from ${least} to ${most}`)
  }
}

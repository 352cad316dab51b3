// Parses arguments into a command and its checked input. Refuses unknown verbs and options
// and suggests the nearest known one.

import { parseArgs } from 'node:util'
import {
  type Command,
  Input,
  type Option,
  type OptionTexts,
  optionsOf,
  positionalsOf,
  usageError,
} from './call/command.ts'
import { globalOptions } from './call/options.ts'
import { findCommand, loadCommands } from './table.ts'
import { didYouMean, didYouMeanCommand } from './text/near-names.ts'

export type Invocation =
  | { readonly type: 'run'; readonly command: Command; readonly input: Input }
  | { readonly type: 'help'; readonly command: Command | undefined }
  | { readonly type: 'version' }

interface ParsedArgs {
  readonly positionals: readonly string[]
  readonly values: ReadonlyMap<string, readonly string[]>
  readonly flags: ReadonlySet<string>
}

const beforeVerb: OptionTexts = { ...globalOptions, '-V, --version': 'Show the version' }

/** Throws `invalid_input`. */
export async function parseCommandLine(args: readonly string[]): Promise<Invocation> {
  const start = splitAtVerb(args)
  const before = readArgs(start.before, beforeVerb, undefined)
  if (before.flags.has('version')) return { type: 'version' }
  if (start.verb === undefined || start.verb === 'help') {
    const named = start.after.filter((word) => !word.startsWith('-'))
    if (named.length === 0) return { type: 'help', command: undefined }
    return { type: 'help', command: (await findVerb(named)).command }
  }
  const { command, rest } = await findVerb([start.verb, ...start.after])
  const found = readArgs(rest, { ...globalOptions, ...command.options }, command.name)
  const flags = new Set([...before.flags, ...found.flags])
  if (flags.has('help')) return { type: 'help', command }
  checkPositionals(command, found.positionals)
  const values = new Map([...before.values, ...found.values])
  return { type: 'run', command, input: new Input(found.positionals, values, flags) }
}

/** Whether --json was given, even among arguments that cannot be parsed. */
export function wantsJson(args: readonly string[]): boolean {
  const end = args.indexOf('--')
  return args.slice(0, end === -1 ? args.length : end).includes('--json')
}

function splitAtVerb(args: readonly string[]): {
  readonly before: readonly string[]
  readonly verb: string | undefined
  readonly after: readonly string[]
} {
  let at = 0
  while (args[at]?.startsWith('-') === true) at += args[at] === '--store' ? 2 : 1
  return { before: args.slice(0, at), verb: args[at], after: args.slice(at + 1) }
}

/** Prefers `key show` to `key`. */
async function findVerb(
  args: readonly string[],
): Promise<{ readonly command: Command; readonly rest: readonly string[] }> {
  for (const count of [2, 1]) {
    const command = await findCommand(args.slice(0, count).join(' '))
    if (command !== undefined) return { command, rest: args.slice(count) }
  }
  const [verb = ''] = args
  const commands = await loadCommands()
  const below = commands.filter((one) => one.name.startsWith(`${verb} `)).map((one) => one.name)
  if (below.length > 0) {
    const nearest = suggestion(args.slice(0, 2).join(' '), commands)
    throw usageError(`"${verb}" needs a second word: ${below.join(', ')}${nearest}`)
  }
  throw usageError(`There is no command "${verb}"${suggestion(verb, commands)}`)
}

/** Nothing that destroys: the next key may be Enter. */
function suggestion(word: string, commands: readonly Command[]): string {
  const named = (destroys: boolean): readonly string[] => {
    const some = commands.filter((one) => (one.destroys === true) === destroys)
    return some.flatMap(({ name, aliases = [] }) => [name].concat(aliases))
  }
  return didYouMeanCommand(word, named(false), named(true))
}

function readArgs(
  args: readonly string[],
  described: OptionTexts,
  verb: string | undefined,
): ParsedArgs {
  const options = optionsOf(described)
  const known = new Map(options.map((option) => [option.name, option]))
  const { tokens } = parseArgs({
    args: [...args],
    options: Object.fromEntries(options.map((option) => [option.name, parserOption(option)])),
    allowPositionals: true,
    strict: false,
    tokens: true,
  })
  const positionals: string[] = []
  const values = new Map<string, readonly string[]>()
  const flags = new Set<string>()
  for (const token of tokens) {
    if (token.kind === 'positional') positionals.push(token.value)
    if (token.kind !== 'option') continue
    const option = known.get(token.name)
    if (option === undefined) {
      const names = [...known.keys()].map((name) => `--${name}`)
      const nearest = didYouMean(token.rawName, names)
      throw usageError(`There is no option "${token.rawName}" here${nearest}`, verb)
    }
    if (option.value === undefined) {
      if (token.value !== undefined) throw usageError(`--${option.name} takes no value`, verb)
      flags.add(option.name)
      continue
    }
    const before = values.get(option.name) ?? []
    values.set(option.name, [...before, checkValue(option, token, known, verb)])
  }
  return { positionals, values, flags }
}

function parserOption(option: Option): { type: 'string' | 'boolean'; short?: string } {
  const type = option.value === undefined ? 'boolean' : 'string'
  return option.short === undefined ? { type } : { type, short: option.short }
}

/** A value may begin with a hyphen, as a list in Markdown does, but not be another option. */
function checkValue(
  option: Option,
  token: { readonly value?: string | undefined; readonly inlineValue?: boolean | undefined },
  known: ReadonlyMap<string, Option>,
  verb: string | undefined,
): string {
  const { value } = token
  const isOption = token.inlineValue !== true && known.has(value?.replace(/^--/, '') ?? '')
  if (value === undefined || (isOption && value.startsWith('--'))) {
    const equals = value === undefined ? '' : `; write --${option.name}=${value} if you mean that`
    throw usageError(`--${option.name} needs a value${equals}`, verb)
  }
  if (option.choices === undefined || option.choices.includes(value)) return value
  throw usageError(`--${option.name} must be one of ${option.choices.join(', ')}`, verb)
}

function checkPositionals(command: Command, given: readonly string[]): void {
  const { name } = command
  const positionals = positionalsOf(command)
  const missing = positionals.find((one, index) => !one.isOptional && given.length <= index)
  if (missing !== undefined) throw usageError(`"${name}" needs <${missing.name}>`, name)
  const extra = given[positionals.length]
  if (extra === undefined || positionals.at(-1)?.isRepeated === true) return
  const most = positionals.length
  const count = most === 0 ? 'no argument' : most === 1 ? 'one argument' : `${most} arguments`
  throw usageError(`"${name}" takes ${count}; quote texts and paths with spaces`, name)
}

// One run of the command line: parses arguments, reads the environment, runs one command and prints
// its answer. Apart from this file, only terminal/pager.ts and the commands watch, serve, mcp and
// tool write to standard output. Leaves signals and the end of the process to main.ts.

import { parseArgs } from 'node:util'
import { systemClock } from '../clock.ts'
import { hasCode, StoreError } from '../errors.ts'
import type { ExitCode } from '../operations/exit-codes.ts'
import type { MemoryStore } from '../store/memory-store.ts'
import { visible } from '../text/visible.ts'
import {
  type Answer,
  type Command,
  CommandError,
  type Context,
  deviceError,
  Input,
  type Interrupts,
  type Option,
  optionsOf,
  type OptionTexts,
  positionalsOf,
  usageError,
} from './call/command.ts'
import { type Environment, readEnvironment, wantsDebugging } from './call/environment.ts'
import { globalOptions } from './call/options.ts'
import { type HelpSubject, helpText } from './help.ts'
import { refuseForeignRoot } from './machine/foreign-owner.ts'
import { packageVersion } from './own-package.ts'
import { findCommand, isFamily, loadCommands, loadFamily } from './table.ts'
import {
  answerText,
  errorText,
  exitCodeOf,
  sentencesText,
  stderrColumns,
} from './terminal/output.ts'
import { withPager } from './terminal/pager.ts'
import { askLine, canAsk } from './terminal/prompt.ts'
import { didYouMean, didYouMeanCommand } from './text/near-names.ts'
import { composedPath, findToolPath, storePath } from './text/store-path.ts'
import { answerJson } from './text/wire.ts'

/** Returns the exit code. Signals are listened for only once there is a command to run. */
export async function runProgram(
  args: readonly string[],
  listen: () => Interrupts,
): Promise<number> {
  const json = wantsJson(args)
  let environment: Environment | undefined
  try {
    const invocation = await parseCommandLine(args)
    if (invocation.type === 'version') return await print(versionAnswer(), json)
    environment = readEnvironment(invocation.input)
    // A program that calls without a verb gets help, as does one that cannot read a screen.
    const isHome = invocation.type === 'home' && environment.terminal.output && !json
    if (invocation.type === 'help' || (invocation.type === 'home' && !isHome)) {
      const about = invocation.type === 'help' ? invocation : {}
      return await print(await helpAnswer(about, environment), json, {
        environment,
        interrupts: listen(),
      })
    }
    const context = contextOf(environment, invocation.input, listen())
    // Every command needs libsodium; help does not.
    const { loadSodium } = await import('../crypto/sodium.ts')
    await loadSodium()
    const command = invocation.type === 'home' ? await loadHome() : invocation.command
    if (environment.grant && byDevices.some((one) => one.test(command.name))) throw deviceError()
    refuseForeignRoot(environment)
    const input = await withStorePaths(context, command, invocation.input)
    const answer = await runCommand(command, context, input)
    return await print(answer, json, context)
  } catch (error) {
    return report(error, json, environment)
  }
}

/** What no grant allows, refused before anything is asked, read or looked up. */
const byDevices: readonly RegExp[] = [
  /^(device (add|role|rename|remove)|grant (give|end|givers)|guard (allow|revoke)|redact|expire)$/,
  /^(key (passwd|recovery|rotate|quota)|remote set-membership|settings|init|join|recover)$/,
]

function contextOf(environment: Environment, input: Input, interrupts: Interrupts): Context {
  return {
    environment,
    interrupts,
    clock: systemClock,
    exactTimes: !environment.terminal.output || input.flag('utc'),
    notices: [],
    unsent: [],
    accepted: new Map(),
    proxies: new Map(),
    commands: loadCommands,
  }
}

async function runCommand(command: Command, context: Context, input: Input): Promise<Answer> {
  try {
    const answer = await command.run(context, input)
    return { ...answer, json: answerJson(command.name, answer.json) }
  } catch (error) {
    throw withHelp(error, command)
  }
}

/** A refusal by the store says what is wrong; the help of the command says what is right. */
function withHelp(error: unknown, { name }: Command): unknown {
  if (!hasCode(error, 'invalid_input') || error instanceof CommandError) return error
  return usageError(error.message, name, error.details)
}

type PrintPlace = Pick<Context, 'environment' | 'interrupts'> &
  Partial<Pick<Context, 'notices' | 'unsent'>>

function versionAnswer(): Answer {
  const version = packageVersion()
  return { text: `gitlocket ${version}\n`, json: { type: 'version', version } }
}

async function helpAnswer(about: HelpSubject, { terminal }: Environment): Promise<Answer> {
  const help = await helpText(about, terminal.output ? terminal.width : Number.POSITIVE_INFINITY)
  return { text: help, json: { type: 'help', help }, paged: help.split('\n').length > LINES_MAX }
}

const UNSENT_EXIT_CODE: ExitCode = 13

/** Longer help is shown by the pager. */
const LINES_MAX = 30

async function loadHome(): Promise<Command> {
  const { home } = await import('./commands/overview/home.ts')
  return home
}

async function print(answer: Answer, json: boolean, place?: PrintPlace): Promise<number> {
  const text = answerText(answer, json, process.stdout.isTTY)
  if (place !== undefined && !json && answer.paged === true && text !== '') {
    await withPager(place, async (write) => void (await write(text)))
  } else {
    process.stdout.write(text)
  }
  const { unsent = [] } = place ?? {}
  for (const error of [...(answer.failures ?? []), ...unsent]) {
    process.stderr.write(errorText(error, json, undefined, stderrColumns()))
  }
  const notes = json ? [] : [answer.note ?? '', ...(place?.notices ?? [])]
  for (const note of notes)
    if (note !== '') process.stderr.write(sentencesText(`${note}\n`, stderrColumns()))
  return answer.exitCode ?? (unsent.length === 0 ? 0 : UNSENT_EXIT_CODE)
}

function report(error: unknown, json: boolean, environment: Environment | undefined): number {
  if (error instanceof CommandError && error.output !== '') process.stdout.write(error.output)
  if (wantsDebugging()) console.error(error)
  const silent = hasCode(error, 'cancelled') && !json && !(error instanceof CommandError)
  const store = findStorePlace(environment)
  if (!silent) process.stderr.write(errorText(error, json, store, stderrColumns()))
  return exitCodeOf(error)
}

/** Undefined without a home directory, which the error is about then. */
function findStorePlace(environment: Environment | undefined): string | undefined {
  try {
    return environment?.storeDirectory
  } catch (error) {
    if (error instanceof StoreError) return undefined
    throw error
  }
}

// Paths that mean another one of the store. `/memories/foo.md`, as the memory tool writes it,
// copied from a transcript, means `/foo.md`, unless the store has such a path itself;
// `memories/foo.md`, without a slash in front, always means the store's own. A decomposed name
// (NFD), as macOS completes it, means the composed one, unless the store has it as it is.

/** The call, in which every path is one of the store. */
async function withStorePaths(context: Context, command: Command, input: Input): Promise<Input> {
  const typed = input.paths(command).filter((path) => {
    return findToolPath(path) !== undefined || path.normalize('NFC') !== path
  })
  if (typed.length === 0) return input
  // Loaded on demand: help and typing errors remain fast.
  const { withStore } = await import('./store/open-store.ts')
  const meant = await withStore(context, async (store) => {
    const found = new Map<string, string>()
    for (const path of typed) found.set(path, await meaningOf(context, store, path))
    return found
  })
  return input.withPaths(command, (path) => meant.get(path) ?? path)
}

async function meaningOf(context: Context, store: MemoryStore, typed: string): Promise<string> {
  const own = await spelt(store, typed)
  const toolPath = findToolPath(typed)
  if (toolPath === undefined) return own
  const tool = await spelt(store, toolPath)
  const [isOwn, isTool] = [await typeAt(store, own), await typeAt(store, tool)]
  if (isTool === undefined && isOwn !== undefined) return own
  const mayBeOwn = isOwn !== undefined || (await typeAt(store, '/memories')) === 'directory'
  if (!mayBeOwn || (isTool !== undefined && isOwn === undefined)) return tool
  if (!canAsk(context)) throw ambiguous(own, tool)
  return choose(context, own, tool)
}

/** Another program of a member may have given the path as it is typed (FORMAT §5.2). */
async function spelt(store: MemoryStore, typed: string): Promise<string> {
  const composed = composedPath(typed)
  const exact = storePath(typed)
  if (composed === exact) return exact
  return (await typeAt(store, exact)) === undefined ? composed : exact
}

async function typeAt(store: MemoryStore, path: string): Promise<'file' | 'directory' | undefined> {
  return (await store.list(path, { depth: 0 }))?.type
}

function ambiguous(own: string, tool: string): CommandError {
  return new CommandError(
    'invalid_input',
    `${own} may mean ${tool}, as the memory tool calls it, or the path ${own} of the store`,
    `Write ${own.slice(1)}, without the first slash, for the path of the store, and ${tool} for ` +
      'the other',
    { facts: { paths: [tool, own] } },
  )
}

async function choose(context: Context, own: string, tool: string): Promise<string> {
  process.stderr.write(
    visible(
      `${own} may mean\n  1  ${tool}, as the memory tool calls it\n` +
        `  2  ${own}, the path of the store\n`,
    ),
  )
  const answer = await askLine(context, 'Which one? [1/2]')
  if (answer === '1') return tool
  if (answer === '2') return own
  throw usageError('The answer must be 1 or 2; nothing was done')
}

type Invocation =
  | { readonly type: 'run'; readonly command: Command; readonly input: Input }
  | { readonly type: 'home'; readonly input: Input }
  | ({ readonly type: 'help'; readonly input?: undefined } & HelpSubject)
  | { readonly type: 'version' }

const beforeVerb: OptionTexts = { ...globalOptions, '-V, --version': 'Show the version' }

/** Throws `invalid_input`. */
export async function parseCommandLine(args: readonly string[]): Promise<Invocation> {
  const start = splitAtVerb(args)
  const before = readArgs(start.before, beforeVerb, undefined)
  if (before.flags.has('version')) return { type: 'version' }
  if (start.verb === undefined) {
    if (before.flags.has('help')) return { type: 'help' }
    return { type: 'home', input: new Input([], before.values, before.flags) }
  }
  if (start.verb === 'help') return { type: 'help', ...(await subjectOf(start.after)) }
  if (isFamily(start.verb) && wantsHelp(start.after)) {
    return { type: 'help', family: await loadFamily(start.verb) }
  }
  const { command, rest } = await findVerb([start.verb, ...start.after])
  const found = readArgs(rest, { ...globalOptions, ...command.options }, command.name)
  const flags = new Set([...before.flags, ...found.flags])
  if (flags.has('help')) return { type: 'help', command }
  checkPositionals(command, found.positionals)
  const values = new Map([...before.values, ...found.values])
  return { type: 'run', command, input: new Input(found.positionals, values, flags) }
}

/** What the words after `help` name. */
async function subjectOf(words: readonly string[]): Promise<HelpSubject> {
  if (words.includes('--all')) return { topic: 'all' }
  const named = words.filter((word) => !word.startsWith('-'))
  const [first] = named
  if (first === undefined) return {}
  if (first === 'all' || first === 'environment' || first === 'exit-codes') return { topic: first }
  if (named.length === 1 && isFamily(first)) return { family: await loadFamily(first) }
  return { command: (await findVerb(named)).command }
}

/** `gitlocket device --help`, where `device` alone is no verb. */
function wantsHelp([first]: readonly string[]): boolean {
  return first === '--help' || first === '-h'
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
  for (let word = args[at]; word?.startsWith('-') === true; word = args[at]) {
    at += word === '--store' || word === '--engine' ? 2 : 1
  }
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
  if (isFamily(verb)) {
    const below = (await loadFamily(verb)).map(({ name }) => name)
    const nearest = suggestion(args.slice(0, 2).join(' '), commands)
    throw usageError(`"${verb}" needs a second word: ${below.join(', ')}${nearest}`, verb)
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

function readArgs(args: readonly string[], described: OptionTexts, verb: string | undefined) {
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

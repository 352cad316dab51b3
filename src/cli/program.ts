// One run of the command line: reads arguments and environment, runs one command and prints its
// answer. Apart from this file, only terminal/pager.ts and the commands watch, serve, mcp and tool
// write to standard output. Leaves signals and the end of the process to main.ts.

import { systemClock } from '../clock.ts'
import { StoreError, hasCode } from '../errors.ts'
import type { MemoryStore } from '../store/memory-store.ts'
import { visible } from '../text/visible.ts'
import {
  CommandError,
  type Answer,
  type Command,
  type Context,
  type Input,
  type Interrupts,
  usageError,
} from './call/command.ts'
import { readEnvironment, type Environment, wantsDebugging } from './call/environment.ts'
import { commandHelp, overview } from './help.ts'
import { refuseForeignRoot } from './machine/foreign-owner.ts'
import { packageVersion } from './own-package.ts'
import { parseCommandLine, type Invocation, wantsJson } from './parse.ts'
import { loadCommands, loadGroups } from './table.ts'
import { answerText, errorText, exitCodeOf } from './terminal/output.ts'
import { withPager } from './terminal/pager.ts'
import { askLine, canAsk } from './terminal/prompt.ts'
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
    if (invocation.type !== 'run') return await print(await aboutProgram(invocation), json)
    environment = readEnvironment(invocation.input.text('store'))
    const context = {
      environment,
      interrupts: listen(),
      clock: systemClock,
      notices: [],
      accepted: new Map(),
      commands: loadCommands,
    }
    // Every command needs libsodium; help does not.
    const { loadSodium } = await import('../crypto/sodium.ts')
    await loadSodium()
    const { command } = invocation
    refuseForeignRoot(environment)
    const input = await withStorePaths(context, command, invocation.input)
    const answer = await runCommand(command, context, input)
    return await print(answer, json, context)
  } catch (error) {
    return report(error, json, environment)
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

async function aboutProgram(
  invocation: Exclude<Invocation, { readonly type: 'run' }>,
): Promise<Answer> {
  if (invocation.type === 'version') {
    const version = packageVersion()
    return { text: `gitlocket ${version}\n`, json: { type: 'version', version } }
  }
  const { command } = invocation
  const text = command === undefined ? overview(await loadGroups()) : commandHelp(command)
  return { text, json: { type: 'help', help: text } }
}

async function print(answer: Answer, json: boolean, context?: Context): Promise<number> {
  const text = answerText(answer, json, process.stdout.isTTY)
  if (context !== undefined && !json && answer.paged === true && text !== '') {
    await withPager(context, async (write) => void (await write(text)))
  } else {
    process.stdout.write(text)
  }
  for (const error of answer.failures ?? []) {
    process.stderr.write(errorText(error, json, undefined, process.stderr.isTTY))
  }
  const notes = json ? [] : [answer.note ?? '', ...(context?.notices ?? [])]
  for (const note of notes) if (note !== '') process.stderr.write(visible(`${note}\n`))
  return answer.exitCode ?? 0
}

function report(error: unknown, json: boolean, environment: Environment | undefined): number {
  if (error instanceof CommandError && error.output !== '') process.stdout.write(error.output)
  if (wantsDebugging()) console.error(error)
  const silent = hasCode(error, 'cancelled') && !json && !(error instanceof CommandError)
  const store = findStorePlace(environment)
  if (!silent) process.stderr.write(errorText(error, json, store, process.stderr.isTTY))
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

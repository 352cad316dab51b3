// One run of the command line: reads arguments and environment, runs one command and prints its
// answer. Apart from this file, only terminal/pager.ts and commands/{watch,serve,mcp,tool}.ts write
// to standard output. Leaves signals and the end of the process to main.ts.

import { systemClock } from '../clock.ts'
import { hasCode, StoreError } from '../errors.ts'
import { visible } from '../text/visible.ts'
import {
  type Answer,
  type Command,
  CommandError,
  type Context,
  type Input,
  type Interrupts,
  usageError,
} from './call/command.ts'
import { type Environment, readEnvironment, wantsDebugging } from './call/environment.ts'
import { commandHelp, overview } from './help.ts'
import { refuseForeignRoot } from './machine/foreign-owner.ts'
import { packageVersion } from './own-package.ts'
import { type Invocation, parseCommandLine, wantsJson } from './parse.ts'
import { withStorePaths } from './store/tool-paths.ts'
import { loadCommands, loadGroups } from './table.ts'
import { answerText, errorText, exitCodeOf } from './terminal/output.ts'
import { withPager } from './terminal/pager.ts'
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
  const notes = [answer.note, ...(context?.notices ?? [])].filter((note) => note !== undefined)
  if (!json) for (const note of notes) process.stderr.write(visible(`${note}\n`))
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

// Runs other programs for the tour and shows their output: the `gitlocket` command, and git if it
// is installed. There are no prompts. A program that fails, or succeeds where it should not, ends
// the tour.

import { spawnSync, type SpawnSyncReturns } from 'node:child_process'
import { execPath } from 'node:process'
import { fileURLToPath } from 'node:url'
import { childEnvironment, type Place } from './place.ts'
import { isFull, print, printBlock, printCommand } from './screen.ts'

export const commandLine: string = fileURLToPath(
  new URL('./cli/main.js', import.meta.resolve('gitlocket')),
)

/**
 * How many lines of an answer are shown, of a short tour with a number below 0 the last ones; with
 * 0 the command is not shown either.
 */
export type LinesMax = number | { readonly full: number; readonly short: number }

/** Shows `$ gitlocket …` and the first lines of its answer. */
export function showCommand(place: Place, args: readonly string[], linesMax: LinesMax): void {
  const shown = ['gitlocket', ...args]
  const program = [execPath, commandLine, ...args]
  show(shown, run(place, shown, program).toString(), linesMax)
}

/** The answer of a command as JSON, without showing it. */
export function askCommand(
  place: Place,
  args: readonly string[],
): Readonly<Record<string, unknown>> {
  const all = [...args, '--json']
  const answer: Record<string, unknown> = JSON.parse(
    run(place, ['gitlocket', ...all], [execPath, commandLine, ...all]).toString(),
  )
  return answer
}

/** Shows a git command in the store and the first lines of its output. */
export function showGit(place: Place, args: readonly string[], linesMax: LinesMax): void {
  const text = git(place, args).toString()
  show(['git', ...args], text === '' ? '(no output: nothing is wrong)' : text, linesMax)
}

/** Shows a git command that must fail, and its error. */
export function showGitRefusing(place: Place, args: readonly string[], linesMax: LinesMax): void {
  const { status, stderr } = start(place, 'git', gitArguments(place, args))
  if (status === 0) throw new Error(`\`git ${args.join(' ')}\` should have failed`)
  show(['git', ...args], stderr.toString(), linesMax)
}

/** Standard output and standard error of git in the store. */
export function git(place: Place, args: readonly string[], input = ''): Buffer {
  return run(place, ['git', ...args], ['git', ...gitArguments(place, args)], input)
}

function gitArguments(place: Place, args: readonly string[]): readonly string[] {
  return ['--no-pager', '-C', place.directory, ...args]
}

/** The output of a program, or undefined if it cannot be started. */
export function ask(program: string, argument: string): string | undefined {
  const { error, stdout } = spawnSync(program, [argument], { encoding: 'utf8', stdio: 'pipe' })
  return error === undefined ? stdout : undefined
}

function show(args: readonly string[], text: string, most: LinesMax): void {
  const { full, short } = typeof most === 'number' ? { full: most, short: most } : most
  const linesMax = isFull ? full : short
  if (linesMax === 0) return
  if (isFull) print()
  printCommand(args.map(quoted))
  printBlock(text, { indent: 2, linesMax })
}

function run(
  place: Place,
  shown: readonly string[],
  [program = '', ...args]: readonly string[],
  input = '',
): Buffer {
  const { error, status, stderr, stdout } = start(place, program, args, input)
  if (error === undefined && status === 0) return Buffer.concat([stdout, stderr])
  throw new Error(`\`${shown.join(' ')}\` failed: ${error?.message ?? stderr.toString()}`)
}

function start(
  place: Place,
  program: string,
  args: readonly string[],
  input = '',
): SpawnSyncReturns<Buffer> {
  return spawnSync(program, args, { cwd: place.root, env: childEnvironment(place), input })
}

function quoted(argument: string): string {
  return /^[\w./:=@%+-]+$/.test(argument) ? argument : `'${argument}'`
}

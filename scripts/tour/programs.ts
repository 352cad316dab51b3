// Runs other programs for the tour and shows what they say: the `gitlocket` command, and git where
// it is installed. Nothing is asked, and a program that fails, or succeeds where it should not,
// ends the tour.

import { spawnSync, type SpawnSyncReturns } from 'node:child_process'
import { execPath } from 'node:process'
import { fileURLToPath } from 'node:url'
import { childEnvironment, type Place } from './place.ts'
import { print, printBlock, printCommand } from './screen.ts'

const commandLine = fileURLToPath(new URL('./cli/main.js', import.meta.resolve('gitlocket')))

/** Shows `$ gitlocket …` and the first lines of its answer. */
export function showCommand(
  place: Place,
  words: readonly string[],
  linesMax: number,
  exitCode = 0,
): void {
  const shown = ['gitlocket', ...words]
  const program = [execPath, commandLine, ...words]
  show(shown, run(place, shown, program, { exitCode }).toString(), linesMax)
}

/** The same with git, in the store. */
export function showGit(place: Place, words: readonly string[], linesMax: number): void {
  const text = git(place, words).toString()
  show(['git', ...words], text === '' ? '(no output: nothing is wrong)' : text, linesMax)
}

/** Shows how git refuses. */
export function showGitRefusing(place: Place, words: readonly string[]): void {
  const { status, stderr } = start(place, 'git', gitWords(place, words))
  if (status === 0) throw new Error(`\`git ${words.join(' ')}\` should have failed`)
  show(['git', ...words], stderr.toString(), 1)
}

/** Standard output and standard error of git in the store. */
export function git(place: Place, words: readonly string[], input = ''): Buffer {
  return run(place, ['git', ...words], ['git', ...gitWords(place, words)], { input })
}

function gitWords(place: Place, words: readonly string[]): readonly string[] {
  return ['--no-pager', '-C', place.directory, ...words]
}

/** What the program says, or undefined if it cannot be started. */
export function ask(program: string, word: string): string | undefined {
  const { error, stdout } = spawnSync(program, [word], { encoding: 'utf8', stdio: 'pipe' })
  return error === undefined ? stdout : undefined
}

function show(words: readonly string[], text: string, linesMax: number): void {
  print()
  printCommand(words.map(quoted))
  printBlock(text, { indent: 2, linesMax })
}

function run(
  place: Place,
  shown: readonly string[],
  [program = '', ...words]: readonly string[],
  { input = '', exitCode = 0 }: { readonly input?: string; readonly exitCode?: number },
): Buffer {
  const { error, status, stderr, stdout } = start(place, program, words, input)
  if (error === undefined && status === exitCode) return Buffer.concat([stdout, stderr])
  throw new Error(`\`${shown.join(' ')}\` failed: ${error?.message ?? stderr.toString()}`)
}

function start(
  place: Place,
  program: string,
  words: readonly string[],
  input = '',
): SpawnSyncReturns<Buffer> {
  return spawnSync(program, words, { cwd: place.root, env: childEnvironment(place), input })
}

function quoted(word: string): string {
  return /^[\w./:=@%+-]+$/.test(word) ? word : `'${word}'`
}

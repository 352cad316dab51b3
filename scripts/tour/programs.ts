// The machines of the tour, and the programs that it runs on them and shows.

import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { devNull, tmpdir } from 'node:os'
import { join } from 'node:path'
import { env, execPath, stdout } from 'node:process'
import { fileURLToPath } from 'node:url'
import { styleText } from 'node:util'
import { formatIdentity, generateIdentity, type Identity } from 'gitlocket'

export interface Machine {
  readonly root: string
  readonly directory: string
  readonly stateDirectory: string
  readonly identity: Identity
  /** Those that `gitlocket` reads. */
  readonly variables: Readonly<Record<string, string>>
}

/** In a temporary directory that is kept, so that the reader can continue there. */
export async function makeMachine(): Promise<Machine> {
  const root = mkdtempSync(join(tmpdir(), 'gitlocket-tour-'))
  const identity = await generateIdentity()
  const { variables, ...places } = placesIn(root)
  const file = variables.GITLOCKET_IDENTITY_FILE
  writeFileSync(file, `${formatIdentity(identity)}\n`, { mode: 0o600 })
  return { root, ...places, identity, variables }
}

/** It has no identity until it joins. */
export function secondMachine(first: Machine): Machine & { readonly recoveryKeyFile: string } {
  const root = join(first.root, 'laptop')
  mkdirSync(root)
  const recoveryKeyFile = join(root, 'recovery-key')
  const places = placesIn(root)
  const variables = { ...places.variables, GITLOCKET_RECOVERY_KEY_FILE: recoveryKeyFile }
  return { ...first, root, ...places, variables, recoveryKeyFile }
}

function placesIn(root: string) {
  const [directory, stateDirectory] = [join(root, 'store'), join(root, 'state')]
  const variables = {
    GITLOCKET_STORE: directory,
    GITLOCKET_IDENTITY_FILE: join(root, 'identity'),
    GITLOCKET_STATE_DIRECTORY: stateDirectory,
  }
  return { directory, stateDirectory, variables }
}

export const commandLine: string = fileURLToPath(
  new URL('./cli/main.js', import.meta.resolve('gitlocket')),
)

/** Runs a command and shows at most so many lines, below 0 the last ones; with 0 nothing. */
export function gitlocket(machine: Machine, args: readonly string[], shown: number): string {
  return run(machine, ['gitlocket', ...args], [commandLine, ...args], { shown, program: execPath })
}

/** The same for git in the store. */
export function git(machine: Machine, args: readonly string[], shown = 0, input = ''): string {
  const all = ['--no-pager', '-C', machine.directory, ...args]
  return run(machine, ['git', ...args], all, { shown, input, program: 'git' })
}

interface Run {
  readonly program: string
  readonly shown: number
  readonly input?: string
}

function run(
  machine: Machine,
  words: readonly string[],
  args: readonly string[],
  { program, shown, input = '' }: Run,
): string {
  const options = {
    cwd: machine.root,
    env: environmentOf(machine),
    input,
    encoding: 'latin1',
  } as const
  const done = spawnSync(program, args, options)
  if (done.error !== undefined || done.status !== 0) {
    throw new Error(`\`${words.join(' ')}\` failed: ${done.error?.message ?? done.stderr}`)
  }
  // Answers are printed to standard output, notices to standard error.
  const output = Buffer.from(done.stdout + done.stderr, 'latin1').toString('utf8')
  const lines = output.trimEnd().split('\n')
  if (shown === 0) return done.stdout
  printCommand(words)
  for (const line of shown < 0 ? lines.slice(shown) : lines.slice(0, shown)) {
    print(`  ${cut(line.replaceAll('\t', '  '), COLUMNS - 2)}`.trimEnd())
  }
  return done.stdout
}

/** Independent of the user's git configuration. */
export function environmentOf({ variables }: Machine): NodeJS.ProcessEnv {
  const others = Object.entries(env).filter(([name]) => !name.startsWith('GIT_'))
  return {
    ...Object.fromEntries(others),
    ...variables,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: devNull,
    GIT_TERMINAL_PROMPT: '0',
    LC_ALL: 'C',
    TZ: 'UTC',
  }
}

/** The output of a program, or undefined if it cannot be started. */
export function ask(program: string, argument: string): string | undefined {
  const done = spawnSync(program, [argument], { encoding: 'utf8', stdio: 'pipe' })
  return done.error === undefined ? done.stdout : undefined
}

export function check(holds: boolean, what: string): void {
  if (!holds) throw new Error(`The tour expects that ${what}`)
}

const COLUMNS = 105
const isColoured = stdout.isTTY && env['NO_COLOR'] === undefined && env['TERM'] !== 'dumb'

export function print(text: string): void {
  stdout.write(`${text}\n`)
}

export function heading(text: string): void {
  print(`\n${bold(text)}`)
}

/** `$ git …`, with a backslash at the end of a continued line, so that it can be copied. */
export function printCommand(words: readonly string[]): void {
  let line = '$'
  for (const word of words.map(quoted)) {
    if (line.length + 1 + word.length > COLUMNS - 2) {
      print(bold(`${line} \\`))
      line = '   '
    }
    line += ` ${word}`
  }
  print(bold(line))
}

function bold(text: string): string {
  return isColoured ? styleText('bold', text) : text
}

function quoted(argument: string): string {
  return /^[\w./:=@%+-]+$/.test(argument) ? argument : `'${argument}'`
}

function cut(line: string, columns: number): string {
  return line.length <= columns ? line : `${line.slice(0, columns - 1)}…`
}

// The machines of the tour, and the programs that it runs on them and shows.

import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { devNull } from 'node:os'
import { join } from 'node:path'
import { env, execPath, stdout } from 'node:process'
import { fileURLToPath } from 'node:url'

/** Widest line that is printed. */
const COLUMNS = 105

/** Makes a program print as on a terminal of this width, without colours and a pager. */
const asTerminal =
  '--import=data:text/javascript,Object.assign(process.stdout,' +
  encodeURIComponent(JSON.stringify({ isTTY: true, columns: COLUMNS - 4 })) +
  ')'

export const commandLine: string = fileURLToPath(
  new URL('./cli/main.js', import.meta.resolve('gitlocket')),
)

export class Machine {
  readonly root: string
  readonly directory: string
  readonly stateDirectory: string
  readonly identityFile: string
  /** Those that `gitlocket` reads. */
  readonly variables: Readonly<Record<string, string>>
  /** Independent of the user's git configuration. */
  readonly environment: NodeJS.ProcessEnv

  constructor(root: string, others: Readonly<Record<string, string>> = {}) {
    mkdirSync(root, { recursive: true })
    this.root = root
    this.directory = join(root, 'store')
    this.stateDirectory = join(root, 'state')
    this.identityFile = join(root, 'identity')
    this.variables = {
      GITLOCKET_STORE: this.directory,
      GITLOCKET_IDENTITY_FILE: this.identityFile,
      GITLOCKET_STATE_DIRECTORY: this.stateDirectory,
    }
    this.environment = {
      ...Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('GIT_'))),
      ...this.variables,
      ...others,
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_GLOBAL: devNull,
      GIT_TERMINAL_PROMPT: '0',
      LC_ALL: 'C',
      TERM: 'dumb',
      TZ: 'UTC',
    }
  }

  /** Runs a command and shows at most `shown` lines, below 0 the last ones; with 0 nothing. */
  gitlocket(args: readonly string[], shown: number): string {
    return this.#run(execPath, ['gitlocket', ...args], [asTerminal, commandLine, ...args], shown)
  }

  /** The same for git in the store. */
  git(args: readonly string[], shown = 0, input = ''): string {
    const all = ['--no-pager', '-C', this.directory, ...args]
    return this.#run('git', ['git', ...args], all, shown, input)
  }

  #run(
    program: string,
    words: readonly string[],
    args: readonly string[],
    shown: number,
    input = '',
  ): string {
    const options = { cwd: this.root, env: this.environment, input, encoding: 'latin1' } as const
    const done = spawnSync(program, args, options)
    if (done.error !== undefined || done.status !== 0) {
      throw new Error(`\`${words.join(' ')}\` failed: ${done.error?.message ?? done.stderr}`)
    }
    if (shown === 0) return done.stdout
    // Answers are printed to standard output, notices to standard error.
    const output = Buffer.from(done.stdout + done.stderr, 'latin1').toString('utf8')
    const lines = output.trimEnd().replaceAll('\t', '  ').split('\n')
    printCommand(words)
    for (const line of shown < 0 ? lines.slice(shown) : lines.slice(0, shown)) {
      print(`  ${line.length < COLUMNS - 1 ? line : `${line.slice(0, COLUMNS - 3)}…`}`.trimEnd())
    }
    return done.stdout
  }
}

export function isInstalled(program: string, argument: string): boolean {
  return spawnSync(program, [argument]).error === undefined
}

export function check(holds: boolean, what: string): void {
  if (!holds) throw new Error(`The tour expects that ${what}`)
}

export function print(text: string): void {
  stdout.write(`${text}\n`)
}

export function heading(text: string): void {
  print(`\n${text}`)
}

/** `$ git …`, with a backslash at the end of a continued line, so that it can be copied. */
export function printCommand(words: readonly string[]): void {
  let line = '$'
  for (const word of words) {
    const quoted = /^[\w./:=@%+-]+$/.test(word) ? word : `'${word}'`
    if (line.length + 1 + quoted.length > COLUMNS - 2) {
      print(`${line} \\`)
      line = '   '
    }
    line += ` ${quoted}`
  }
  print(line)
}

// Runs the built command line as its users do: as a process, with a home of its own and nothing of
// this machine's environment. Must not look inside the process. Steps that must succeed and are not
// about the process run inside this one, which costs a tenth (cli-call.ts).

import { type ChildProcess, spawn } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, onTestFinished } from 'vitest'
import { directoryOfProcess } from '../support/temporary.ts'
import { call } from './cli-call.ts'

export const mainFile: string = fileURLToPath(
  new URL('../../src/bin/gitlocket.cjs', import.meta.url),
)

export interface Ended {
  readonly stdout: string
  readonly stderr: string
  /** 128 + its number for a signal. */
  readonly exitCode: number
}

export interface RunOptions {
  readonly input?: string | Uint8Array
  readonly env?: Readonly<Record<string, string>>
  /** The file of another installed command. */
  readonly program?: string
}

/** A machine: a home directory, and gitlocket to run there. */
export class Home {
  readonly directory: string
  readonly store: string
  readonly identityFile: string
  readonly stateDirectory: string
  /** Environment variables of all its programs. */
  readonly variables: Record<string, string> = {}

  constructor(directory: string) {
    this.directory = directory
    this.store = join(directory, '.local/share/gitlocket/store')
    this.identityFile = join(directory, '.config/gitlocket/identity')
    this.stateDirectory = join(directory, '.local/state/gitlocket')
  }

  /** As a process, whatever the exit code. */
  async run(words: readonly string[], options: RunOptions = {}): Promise<Ended> {
    const child = this.start(words, options.env, options.program)
    child.stdin?.end(options.input ?? '')
    return ended(child)
  }

  /** The same inside this process: no standard input, and no signals. */
  call(words: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> {
    return call(words, { directory: this.directory, env: this.environment(env) })
  }

  /** Standard output and standard error on a terminal of this width, inside this process. */
  async screen(columns: number, words: readonly string[]): Promise<string> {
    const surroundings = { directory: this.directory, env: this.environment(), columns }
    const { stdout, stderr } = await call(words, surroundings)
    return stdout + stderr
  }

  /** Standard output of a command that must succeed, inside this process. */
  async ok(...words: readonly string[]): Promise<string> {
    const { stdout, stderr, exitCode } = await this.call(words)
    if (exitCode === 0 && stderr === '') return stdout
    throw new Error(`gitlocket ${words.join(' ')} exited with ${exitCode}: ${stderr}`)
  }

  /** What a command that must succeed prints with --json. */
  async json(...words: readonly string[]): Promise<Readonly<Record<string, unknown>>> {
    return JSON.parse(await this.ok(...words, '--json'))
  }

  start(
    words: readonly string[],
    env: Readonly<Record<string, string>> = {},
    program = mainFile,
  ): ChildProcess {
    return spawn(process.execPath, [program, ...words], {
      cwd: this.directory,
      env: this.environment(env),
      stdio: 'pipe',
    })
  }

  environment(env: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
    const base = { HOME: this.directory, PATH: process.env['PATH'], LOGNAME: 'alice', LC_ALL: 'C' }
    return { ...base, ...this.variables, ...env }
  }

  /** A file in the home, outside the store, that no one else can read. */
  file(name: string, content: string | Uint8Array): string {
    const path = join(this.directory, name)
    mkdirSync(join(path, '..'), { recursive: true })
    writeFileSync(path, content, { mode: 0o600 })
    return path
  }
}

/** A machine without a store, gone when the test ends. */
export function newHome(): Home {
  const home = makeHome()
  onTestFinished(() => remove(home))
  return home
}

/** The same for all tests of a `describe`, which must not change it. */
export function sharedHome(): Home {
  const home = makeHome()
  afterAll(() => remove(home))
  return home
}

function makeHome(): Home {
  return new Home(mkdtempSync(join(tmpdir(), 'gitlocket-e2e-')))
}

function remove(home: Home): void {
  rmSync(home.directory, { recursive: true, force: true, maxRetries: 3 })
}

/** A machine with a new store: a copy of one that is made once per process. */
export const newHomeWithStore: () => Promise<Home> = copiesOf(async (home) => {
  await home.ok('init')
})

/** Gives copies of a machine that is filled once. */
export function copiesOf(fill: (home: Home) => Promise<void>): () => Promise<Home> {
  let template: Promise<Home> | undefined
  return async () => {
    template ??= filled(fill)
    const home = newHome()
    cpSync((await template).directory, home.directory, { recursive: true })
    return home
  }
}

async function filled(fill: (home: Home) => Promise<void>): Promise<Home> {
  const home = new Home(directoryOfProcess())
  await fill(home)
  return home
}

const signalNumbers: Readonly<Record<string, number>> = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 }

export function ended(child: ChildProcess): Promise<Ended> {
  const out = collect(child.stdout)
  const err = collect(child.stderr)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => {
      const exitCode = code ?? 128 + (signalNumbers[signal ?? ''] ?? 0)
      resolve({ stdout: out(), stderr: err(), exitCode })
    })
  })
}

function collect(stream: NodeJS.ReadableStream | null): () => string {
  const chunks: Buffer[] = []
  stream?.on('data', (chunk: Buffer) => chunks.push(chunk))
  return () => Buffer.concat(chunks).toString()
}

// A machine of the soak: a home directory, a place on the network, and the built gitlocket there.

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { commandLine } from '../bench/machine.ts'
import type { Place } from './network.ts'

export interface Ended {
  readonly exitCode: number | undefined
  readonly stdout: string
  readonly stderr: string
}

export interface Started {
  readonly child: ChildProcess
  /** Resolves when the process has ended. */
  readonly ended: Promise<Ended>
}

const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/** A program with its standard input open, killed if this process ends. */
export function startProgram(
  words: readonly string[],
  { prefix }: Place,
  env: NodeJS.ProcessEnv,
): Started {
  const [program = '', ...others] = [...prefix, ...words]
  const child = spawn(program, others, { env, stdio: 'pipe' })
  running.add(child)
  const texts = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => (texts.stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (texts.stderr += text))
  // It may have ended.
  child.stdin.on('error', () => undefined)
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => {
      running.delete(child)
      resolve({ exitCode: code ?? undefined, ...texts })
    })
  })
  return { child, ended }
}

export class Home {
  readonly directory: string
  readonly place: Place
  readonly variables: Readonly<Record<string, string>>

  /** Its directory is made. Its programs have these variables besides HOME and PATH. */
  constructor(directory: string, place: Place, variables: Readonly<Record<string, string>> = {}) {
    this.directory = directory
    this.place = place
    this.variables = variables
    mkdirSync(directory, { recursive: true })
  }

  get environment(): Readonly<Record<string, string>> {
    return { PATH: process.env['PATH'] ?? '', HOME: this.directory, ...this.variables }
  }

  start(...words: readonly string[]): Started {
    return startProgram([process.execPath, commandLine, ...words], this.place, this.environment)
  }

  /** Runs a command to its end, whatever its exit code. */
  run(...words: readonly string[]): Promise<Ended> {
    const { child, ended } = this.start(...words)
    child.stdin?.end()
    return ended
  }

  /** What a command that must succeed prints with --json. */
  async json(...words: readonly string[]): Promise<Readonly<Record<string, unknown>>> {
    const { exitCode, stdout, stderr } = await this.run(...words, '--json')
    if (exitCode === 0) return JSON.parse(stdout)
    throw new Error(`gitlocket ${words.join(' ')} exited with ${exitCode}: ${stderr}`)
  }

  remove(): void {
    rmSync(this.directory, { recursive: true, force: true, maxRetries: 3 })
  }
}

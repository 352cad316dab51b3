// Runs the built command line inside this process, where its modules are loaded once: for steps
// before and after the tested one. While it runs, environment, working directory and output of this
// process are those of the command. Tests of exit, signals, terminal and standard input need a
// separate process: see cli-process.ts.

import process from 'node:process'
import type { Interrupts } from '../../src/cli/call/command.ts'
import type { runProgram } from '../../src/cli/program.ts'

/** The module that main.ts starts, in the bundle that the package ships. */
interface Program {
  readonly runProgram: typeof runProgram
}

export interface Called {
  readonly stdout: string
  readonly stderr: string
  readonly exitCode: number
}

export interface Surroundings {
  /** Prints as on a terminal of this width, without colours and a pager; else as in a pipe. */
  readonly columns?: number | undefined
  readonly directory: string
  readonly env: NodeJS.ProcessEnv
}

const programFile = new URL('../../dist/command/program.cjs', import.meta.url).href

/** Calls take turns, since there is one environment and one working directory. */
let last: Promise<unknown> = Promise.resolve()

export function call(words: readonly string[], surroundings: Surroundings): Promise<Called> {
  const turn = last.then(() => run(words, surroundings))
  last = turn.catch(() => undefined)
  return turn
}

async function run(
  words: readonly string[],
  { directory, env, columns }: Surroundings,
): Promise<Called> {
  const program: Program = await import(programFile)
  const stdout = capture(process.stdout)
  const stderr = capture(process.stderr)
  const place = process.cwd()
  const variables = { ...process.env }
  const terminal = { isTTY: process.stdout.isTTY, columns: process.stdout.columns }
  setVariables(columns === undefined ? env : { ...env, TERM: 'dumb' })
  process.chdir(directory)
  if (columns !== undefined) Object.assign(process.stdout, { isTTY: true, columns })
  try {
    const exitCode = await program.runProgram(words, () => uninterrupted)
    return { exitCode, stdout: stdout.text(), stderr: stderr.text() }
  } finally {
    process.chdir(place)
    setVariables(variables)
    if (columns !== undefined) Object.assign(process.stdout, terminal)
    stdout.release()
    stderr.release()
  }
}

/** In place: the system, which resolves the home directory, does not see a new object. */
function setVariables(wanted: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(process.env)) {
    if (wanted[name] === undefined) Reflect.deleteProperty(process.env, name)
  }
  Object.assign(process.env, wanted)
}

interface Capture {
  text(): string
  release(): void
}

function capture(stream: NodeJS.WriteStream): Capture {
  const pieces: string[] = []
  // Hides the stream's own method until it is released.
  stream.write = (piece: string | Uint8Array) => {
    pieces.push(typeof piece === 'string' ? piece : Buffer.from(piece).toString())
    return true
  }
  return {
    text: () => pieces.join(''),
    release: () => void Reflect.deleteProperty(stream, 'write'),
  }
}

const uninterrupted: Interrupts = {
  signal: new AbortController().signal,
  patiently: (_, work) => work(),
  untilStopped: (_, work) => work(),
  ignoring: (work) => work(),
  atExit: (cleanup) => cleanup,
}

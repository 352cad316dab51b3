// Runs the built command line on a terminal: python3 makes a pseudo-terminal, types an answer when
// a question shows, and passes on what the screen got.

import { spawnSync } from 'node:child_process'
import { type Requirement, requires } from '../support/tools.ts'
import { type Home, mainFile } from './cli-process.ts'

/** Skip without it. */
export const terminal: Requirement = requires('python3')

export interface Session {
  /** Standard output and standard error, as they came, with newlines as programs write them. */
  readonly screen: string
  readonly exitCode: number
}

export interface TerminalOptions {
  /**
   * The answers to type when a text shows, in order. `\u0003` is Ctrl-C. Another command may run
   * between the text and the answer.
   */
  readonly typed?: readonly (readonly [
    shown: string,
    answer: string,
    meanwhile?: readonly string[],
  ])[]
  readonly env?: Readonly<Record<string, string>>
  /** The width of the terminal; 100 by default. */
  readonly columns?: number
  /** The file of another installed command. */
  readonly program?: string
}

export function onTerminal(
  home: Home,
  words: readonly string[],
  options: TerminalOptions = {},
): Session {
  const { status, stdout, stderr } = spawnSync('python3', ['-c', program], {
    ...placeOf(home, options),
    input: requestOf(words, options),
    encoding: 'utf8',
  })
  return sessionOf(status, stdout, stderr)
}

function placeOf(
  home: Home,
  { env }: TerminalOptions,
): { readonly cwd: string; readonly env: NodeJS.ProcessEnv; readonly timeout: number } {
  const timeout = 30_000
  return { cwd: home.directory, env: home.environment({ TERM: 'xterm', ...env }), timeout }
}

function requestOf(words: readonly string[], options: TerminalOptions): string {
  const commandOf = (given: readonly string[]): readonly string[] => {
    return [process.execPath, options.program ?? mainFile, ...given]
  }
  const typed = (options.typed ?? []).map(([shown, answer, meanwhile]) => {
    return [shown, answer, meanwhile && commandOf(meanwhile)]
  })
  const { columns = 100 } = options
  return JSON.stringify({ words: commandOf(words), typed, columns })
}

function sessionOf(status: number | null, stdout: string, stderr: string): Session {
  if (status !== 0) throw new Error(`the terminal failed: ${stderr}`)
  const [exitCode, screen] = JSON.parse(stdout)
  return { exitCode, screen: screen.replaceAll('\r\n', '\n') }
}

const program = `
import fcntl, json, os, pty, struct, subprocess, sys, termios
request = json.load(sys.stdin)
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, request["columns"], 0, 0))
    os.execv(request["words"][0], request["words"])
screen, seen, typed = b"", 0, list(request["typed"])
while True:
    try:
        piece = os.read(fd, 65536)
    except OSError:
        break
    if not piece:
        break
    screen += piece
    while typed and typed[0][0].encode() in screen[seen:]:
        shown, answer, meanwhile = typed.pop(0)
        seen = screen.index(shown.encode(), seen) + len(shown.encode())
        if meanwhile:
            subprocess.run(meanwhile, check=True, stdout=subprocess.DEVNULL)
        os.write(fd, answer.encode())
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
json.dump([status, screen.decode("utf8", "replace")], sys.stdout)
`

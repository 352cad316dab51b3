// The wire over a process: git itself for a path, the user's ssh for a host. Both speak the
// stateful protocol on their standard streams. Must never prompt, hang, or leave a process; the
// error output is only used to explain a failure. Git for a path runs as the user, on files that
// anyone may have prepared: a fetch or push must run nothing that the repository names
// (THREAT-MODEL T22).

import {
  type ChildProcessWithoutNullStreams,
  execFile,
  type ExecFileOptions,
  spawn,
} from 'node:child_process'
import { kill } from 'node:process'
import { systemDisk } from '../disk/system-disk.ts'
import { StoreError } from '../errors.ts'
import { processFailure } from './failures.ts'
import { checkGitSettings, childEnvironment, findGitSetting } from './git-settings.ts'
import { flushPacket, PacketReader } from './pkt-line.ts'
import type { RemoteAccess, RemoteWire, Service } from './remote-access.ts'
import type { FileUrl, SshUrl } from './remote-url.ts'
import { awaitMoved, cancelled, drained, moving, type Patience } from './stall.ts'

/** Words that end a command of their own: git, too, starts any other one without a shell. */
const needsShell = /[|&;<>()$`\\"' \t\n*?[#~=%]/

const shell = '/bin/sh'

/** Program and arguments; more arguments may follow. */
export function shellCommand(line: string): readonly string[] {
  return needsShell.test(line) ? [shell, '-c', `${line} "$@"`, line] : [line]
}

function isShell(command: readonly string[]): boolean {
  return command[0] === shell
}

/** Quotes one argument for the shell on the other side of ssh. */
export function quoteWord(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

const stderrBytesMax = 16_384
/** How long a process may take to end after its streams are closed. */
const endMsMax = 1000

/** The command that serves `service` at `url`. */
async function programFor(
  url: SshUrl | FileUrl,
  service: Service,
  access: RemoteAccess,
  patience: Patience,
): Promise<ServiceProgram> {
  if (url.kind === 'file') return pathProgram(url.path, service, access, patience)
  const { user, host, port, path } = url
  const command = [
    ...(await sshCommandOf(access, patience)),
    '-o',
    'BatchMode=yes',
    ...(port === undefined ? [] : ['-p', String(port)]),
    user === undefined ? host : `${user}@${host}`,
    `${service} ${quoteWord(path)}`,
  ]
  return { command, environment: childEnvironment(access.environment) }
}

/** In git's order: the shell runs the first two. */
async function sshCommandOf(
  { sshCommand, environment = {} }: RemoteAccess,
  patience: Patience,
): Promise<readonly string[]> {
  if (sshCommand !== undefined) return sshCommand
  const { GIT_SSH_COMMAND: command = '', GIT_SSH: program = '' } = environment
  const line = command || (await findGitSetting('core.sshCommand', environment, patience))
  if (line) return shellCommand(line)
  return [program || 'ssh']
}

export class ProcessWire implements RemoteWire {
  readonly secrets: readonly string[] = []
  readonly #remote: SshUrl | FileUrl
  readonly #access: RemoteAccess
  readonly #patience: Patience
  readonly #child: ChildProcessWithoutNullStreams
  /** Whether the process leads a group: a shell does not end its children. */
  readonly #leads: boolean
  readonly #ended: Promise<number | undefined>
  readonly #packets: PacketReader
  #stderr = ''
  #spawnError: unknown

  static async open(
    remote: SshUrl | FileUrl,
    service: Service,
    access: RemoteAccess,
    patience: Patience,
  ): Promise<ProcessWire> {
    const program = await programFor(remote, service, access, patience)
    return new ProcessWire(remote, program, access, patience)
  }

  private constructor(
    remote: SshUrl | FileUrl,
    { command, environment }: ServiceProgram,
    access: RemoteAccess,
    patience: Patience,
  ) {
    this.#access = access
    this.#leads = isShell(command)
    this.#remote = remote
    this.#patience = patience
    const [program = '', ...args] = command
    const how = { cwd: '/', env: environment, detached: this.#leads }
    this.#child = spawn(program, args, { ...how, stdio: 'pipe' })
    this.#ended = this.#watch()
    const chunks = moving(this.#child.stdout, patience, () => undefined)
    this.#packets = new PacketReader(chunks, patience.signal)
  }

  /** The process begins with the list by itself. */
  async list(): Promise<PacketReader> {
    return this.#packets
  }

  /** Not awaited: the output must be read while the input is written. */
  async send(body: AsyncIterable<Uint8Array>): Promise<AsyncIterable<Uint8Array>> {
    const sent = this.#pump(body)
    let failure: unknown
    sent.catch((error: unknown) => {
      failure = error
      this.#kill('SIGTERM')
    })
    const packets = this.#packets
    return (async function* () {
      yield* packets.rest()
      if (failure !== undefined) throw failure
    })()
  }

  async explain(): Promise<StoreError | undefined> {
    const child = this.#child
    child.stdin.destroy()
    const code = await Promise.race([this.#ended, pause(endMsMax).then(() => undefined)])
    if (code === 0) return undefined
    // For a path it may be the user's configuration that is broken, not that of the repository.
    const isLocal = this.#remote.kind === 'file' && /bad config/i.test(this.#stderr)
    if (isLocal) await checkGitSettings(this.#access.environment, this.#patience)
    const failure = { code, stderr: this.#stderr, cause: this.#spawnError }
    return processFailure(this.#remote, failure)
  }

  async close(): Promise<void> {
    const child = this.#child
    // A flush packet tells the process that nothing is wanted, and it ends.
    if (child.stdin.writable) child.stdin.end(flushPacket)
    // A process blocked on its output would not end, and an unread stream would not close.
    child.stdout.destroy()
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      if ((await Promise.race([this.#ended, pause(endMsMax)])) !== 'late') break
      this.#kill(signal)
    }
    child.stderr.destroy()
    child.stdin.destroy()
    await this.#ended
  }

  #kill(signal: NodeJS.Signals): void {
    const { pid } = this.#child
    if (!this.#leads || pid === undefined) this.#child.kill(signal)
    else {
      try {
        kill(-pid, signal)
      } catch {
        // All of the group have ended.
      }
    }
  }

  /** Resolves to the exit code; undefined after a signal, or if it never started. */
  #watch(): Promise<number | undefined> {
    const child = this.#child
    // A process that ends early closes its input; its error output has the reason.
    child.stdin.on('error', () => undefined)
    child.stdout.on('error', () => undefined)
    child.stderr.on('error', () => undefined)
    child.stderr.on('data', (chunk: Buffer) => {
      if (this.#stderr.length < stderrBytesMax) this.#stderr += chunk.toString('utf8')
    })
    return new Promise((resolve) => {
      child.once('error', (error) => {
        this.#spawnError = error
        resolve(undefined)
      })
      child.once('close', (code) => resolve(code ?? undefined))
      child.once('exit', (code) => {
        // A child of the process may hold the streams open for longer.
        setTimeout(() => resolve(code ?? undefined), 200).unref()
      })
    })
  }

  async #pump(body: AsyncIterable<Uint8Array>): Promise<void> {
    const { stdin } = this.#child
    for await (const chunk of body) {
      if (!stdin.writable) return
      if (!stdin.write(chunk)) await awaitMoved(drained(stdin), this.#patience)
    }
    stdin.end()
  }
}

function pause(ms: number): Promise<'late'> {
  return new Promise((resolve) => {
    setTimeout(() => resolve('late'), ms).unref()
  })
}

/** The command that serves one service of a remote. */
interface ServiceProgram {
  readonly command: readonly string[]
  readonly environment: Readonly<Record<string, string>>
}

const settings: readonly string[] = [
  // The disk may be unplugged next: acknowledged writes are synced.
  'core.fsync=all',
  'gc.auto=0',
  'receive.autogc=false',
  'maintenance.auto=false',
  'core.hooksPath=/dev/null',
  // Lists nothing from repositories that this one borrows objects from.
  'core.alternateRefsCommand=true',
  // Otherwise its working tree may be updated, through filters that its configuration names.
  'receive.denyCurrentBranch=refuse',
]

export const unconnected: Readonly<Record<string, string>> = {
  // A partial clone fetches missing objects from the place, and by the program, that its config
  // names.
  GIT_NO_LAZY_FETCH: '1',
  GIT_ALLOW_PROTOCOL: 'none',
  // Its log, which may be a link to any file, must not contain text from its configuration.
  GIT_COMMITTER_NAME: 'gitlocket',
  GIT_COMMITTER_EMAIL: 'gitlocket@localhost',
}

/** Throws `cancelled`, `git_config_invalid`, or `remote_protocol` for a bad config there. */
export async function pathProgram(
  path: string,
  service: Service,
  access: RemoteAccess,
  patience: Patience,
): Promise<ServiceProgram> {
  const environment = { ...childEnvironment(access.environment), ...unconnected }
  // A fetch runs no hooks.
  const isPush = service === 'git-receive-pack'
  const hooks = isPush ? await hooksNamedBy(path, environment, patience) : []
  const options = settings.flatMap((setting) => ['-c', setting])
  return {
    command: ['git', ...options, service.slice('git-'.length), path],
    environment: { ...environment, ...disabled(hooks) },
  }
}

/** The places where git looks for the repository of a path. */
const suffixes = ['/.git', '', '.git/.git', '.git']

/** git 2.54 and later run hooks from the configuration; each is disabled by its name. */
async function hooksNamedBy(
  path: string,
  environment: Readonly<Record<string, string>>,
  patience: Patience,
): Promise<readonly string[]> {
  const found = suffixes.map((suffix) => `${path}${suffix}`).filter(mayBeThere)
  // Where nothing is, git still lists what the user's own configuration names.
  const directories = found.length > 0 ? found : [path]
  const keys = directories.map((directory) => listKeys(directory, environment, patience))
  const names = (await Promise.all(keys)).flat().flatMap((key) => {
    // A name may contain anything but a newline.
    return /^hook\.([^\n]+)\.[^.]+$/.exec(key)?.[1] ?? []
  })
  // A name that is not UTF-8 would be changed, and its hook would remain enabled.
  if (names.some((name) => name.includes('\u{fffd}'))) throw unreadable()
  return [...new Set(names)]
}

/** False only if nothing is there: a process to read nothing would cost as much as the push. */
function mayBeThere(path: string): boolean {
  try {
    return systemDisk.stat(path) !== undefined
  } catch {
    return true
  }
}

/** Outside a repository, lists only the keys of the user's configuration. */
async function listKeys(
  directory: string,
  environment: Readonly<Record<string, string>>,
  patience: Patience,
): Promise<readonly string[]> {
  const args = [`--git-dir=${directory}`, 'config', '--list', '--name-only', '-z']
  const { signal } = patience
  const timeout = Math.max(1, Math.floor(patience.leftOf(performance.now())))
  const options = { cwd: '/', env: environment, signal, timeout }
  try {
    return (await runGit(args, options)).split('\0')
  } catch (error) {
    if (signal?.aborted === true) throw cancelled()
    // Starting the service reports a missing git.
    if (isMissing(error)) return []
    // git reads the user's own first.
    await checkGitSettings(environment, patience)
    throw unreadable()
  }
}

function unreadable(): StoreError {
  return new StoreError('remote_protocol', 'The configuration of the remote cannot be read')
}

function runGit(args: readonly string[], options: ExecFileOptions): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile('git', args, { ...options, encoding: 'utf8' }, (error, stdout) => {
      if (error === null) resolve(stdout)
      else reject(error)
    })
  })
}

function isMissing(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false
  return error.code === 'ENOENT' || error.code === 'EACCES'
}

function disabled(hooks: readonly string[]): Readonly<Record<string, string>> {
  const pairs = hooks.flatMap((name, index) => [
    [`GIT_CONFIG_KEY_${index}`, `hook.${name}.enabled`],
    [`GIT_CONFIG_VALUE_${index}`, 'false'],
  ])
  return { GIT_CONFIG_COUNT: String(hooks.length), ...Object.fromEntries(pairs) }
}

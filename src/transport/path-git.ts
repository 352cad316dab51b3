// Runs git to serve a repository at a path. It runs as the user, on files that anyone may have
// prepared: a USB stick, a shared folder, an unpacked archive. So a fetch or push must run nothing
// that the repository names (THREAT-MODEL T22). A host, which runs hooks as itself, is reached over
// ssh or https.

import { execFile, type ExecFileOptions } from 'node:child_process'
import { systemDisk } from '../disk/disk.ts'
import { StoreError } from '../errors.ts'
import { childEnvironment, checkGitSettings } from './git-settings.ts'
import type { RemoteAccess } from './remote-access.ts'
import { cancelled, type Patience } from './stall.ts'
import type { Service } from './wire.ts'

/** The command that serves one service of a remote. */
export interface ServiceProgram {
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

const unconnected: Readonly<Record<string, string>> = {
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

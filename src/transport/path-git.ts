// The git that serves a repository at a path. It runs as the user, on files that anybody may have
// prepared: a stick, a shared folder, an unpacked archive. So nothing that such a repository names
// is run (THREAT-MODEL T22), neither for a fetch nor for a push; a host, which runs its hooks as
// itself, is reached over ssh or https.

import { execFile, type ExecFileOptions } from 'node:child_process'
import { StoreError } from '../errors.ts'
import { childEnvironment } from './environment.ts'
import type { RemoteAccess } from './remote-access.ts'
import { cancelled, type Patience } from './stall.ts'
import type { Service } from './wire.ts'

/** What is started for one service of a remote. */
export interface ServiceProgram {
  readonly command: readonly string[]
  readonly environment: Readonly<Record<string, string>>
}

const settings: readonly string[] = [
  // A remote on a disk, perhaps one that is unplugged next: what is acknowledged is synced.
  'core.fsync=all',
  'gc.auto=0',
  'receive.autogc=false',
  'maintenance.auto=false',
  'core.hooksPath=/dev/null',
  // Lists nothing of the repositories that this one borrows objects from.
  'core.alternateRefsCommand=true',
  // Else a working tree there may be updated, through the filters that its configuration names.
  'receive.denyCurrentBranch=refuse',
]

const unconnected: Readonly<Record<string, string>> = {
  // A partial clone fetches what it lacks from where, and through what, its configuration says.
  GIT_NO_LAZY_FETCH: '1',
  GIT_ALLOW_PROTOCOL: 'none',
  // Lines of a log there, which may be a link to any file, are not for its configuration to word.
  GIT_COMMITTER_NAME: 'gitlocket',
  GIT_COMMITTER_EMAIL: 'gitlocket@localhost',
}

/** Throws `cancelled`, or `remote_protocol` where the configuration cannot be read. */
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
    environment: { ...environment, ...switchedOff(hooks) },
  }
}

/** Where git looks for the repository that a path means. */
const suffixes = ['/.git', '', '.git/.git', '.git']

/** git 2.54 and later run hooks that the configuration names; they are switched off by name. */
async function hooksNamedBy(
  path: string,
  environment: Readonly<Record<string, string>>,
  patience: Patience,
): Promise<readonly string[]> {
  const keys = suffixes.map((suffix) => listKeys(`${path}${suffix}`, environment, patience))
  const names = (await Promise.all(keys)).flat().flatMap((key) => {
    // A name may hold anything but the end of a line.
    return /^hook\.([^\n]+)\.[^.]+$/.exec(key)?.[1] ?? []
  })
  // What is no UTF-8 would be switched off under another name.
  if (names.some((name) => name.includes('\u{fffd}'))) throw unreadable()
  return [...new Set(names)]
}

/** Of what is no repository, only those of the user. */
async function listKeys(
  directory: string,
  environment: Readonly<Record<string, string>>,
  { signal, timeoutMs }: Patience,
): Promise<readonly string[]> {
  const words = [`--git-dir=${directory}`, 'config', '--list', '--name-only', '-z']
  const options = { cwd: '/', env: environment, signal, timeout: timeoutMs }
  try {
    return (await runGit(words, options)).split('\0')
  } catch (error) {
    if (signal?.aborted === true) throw cancelled()
    // The service itself finds out that there is no git.
    if (isMissing(error)) return []
    throw unreadable()
  }
}

function unreadable(): StoreError {
  return new StoreError('remote_protocol', 'The configuration of the remote cannot be read')
}

function runGit(words: readonly string[], options: ExecFileOptions): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile('git', words, { ...options, encoding: 'utf8' }, (error, stdout) => {
      if (error === null) resolve(stdout)
      else reject(error)
    })
  })
}

function isMissing(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false
  return error.code === 'ENOENT' || error.code === 'EACCES'
}

function switchedOff(hooks: readonly string[]): Readonly<Record<string, string>> {
  const pairs = hooks.flatMap((name, index) => [
    [`GIT_CONFIG_KEY_${index}`, `hook.${name}.enabled`],
    [`GIT_CONFIG_VALUE_${index}`, 'false'],
  ])
  return { GIT_CONFIG_COUNT: String(hooks.length), ...Object.fromEntries(pairs) }
}

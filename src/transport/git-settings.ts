// What a connection takes from the user: the environment for child processes, and the settings of
// git, as git itself reads them outside of every repository, since what a repository names is not
// trusted (THREAT-MODEL T22). Without git, no setting applies. Must not change anything.

import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { StoreError } from '../errors.ts'
import { harmless } from './failures.ts'
import type { ProcessEnvironment } from './remote-access.ts'
import { cancelled, type Patience } from './stall.ts'

/** Where the user keeps git's configuration and programs; other GIT_ variables are dropped. */
const keptOfGit = /^GIT_(?:CONFIG_(?:GLOBAL|SYSTEM|NOSYSTEM)|EXEC_PATH|SSL_\w+)$/

const unattended = {
  GIT_TERMINAL_PROMPT: '0',
  // Set but empty: git then uses neither this program nor a fallback.
  GIT_ASKPASS: '',
  SSH_ASKPASS: '',
  SSH_ASKPASS_REQUIRE: 'never',
  GCM_INTERACTIVE: 'never',
  // Messages of programs are matched in English.
  LC_ALL: 'C',
}

export function childEnvironment(environment: ProcessEnvironment = {}): Record<string, string> {
  const kept: Record<string, string> = {}
  for (const [name, value] of Object.entries(environment)) {
    if (value === undefined || name.startsWith('GITLOCKET_')) continue
    if (!name.startsWith('GIT_') || keptOfGit.test(name)) kept[name] = value
  }
  return { ...kept, ...unattended }
}

const pemMark = '-----BEGIN CERTIFICATE-----'
/** Where curl, and so git, finds the certificates that the system trusts. */
const systemBundles: readonly string[] = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/cert.pem',
]

/**
 * A setting, or the one for a URL; undefined if it is absent. Throws `git_config_invalid` or
 * `cancelled`.
 */
export function findGitSetting(
  name: string,
  environment: ProcessEnvironment | undefined,
  patience: Patience,
  url?: string,
): Promise<string | undefined> {
  const question = url === undefined ? ['--get', name] : ['--get-urlmatch', name, url]
  return askGit(question, environment, patience)
}

/** Throws `git_config_invalid` if git cannot read its settings. */
export async function checkGitSettings(
  environment: ProcessEnvironment | undefined,
  patience: Patience,
): Promise<void> {
  await askGit(['--list', '--name-only'], environment, patience)
}

/**
 * The certificates that git trusts at an address: those of its settings or variables, and of the
 * system. Undefined without any.
 */
export async function findCertificates(
  url: string,
  environment: ProcessEnvironment = {},
  patience: Patience,
): Promise<string | undefined> {
  // `http.<url>.…` may have another value.
  const findPath = (name: string): Promise<string | undefined> =>
    askGit(['--type=path', '--get-urlmatch', name, url], environment, patience)
  const file = await findPath('http.sslCAInfo')
  const directory = await findPath('http.sslCAPath')
  const { GIT_SSL_CAINFO: own, GIT_SSL_CAPATH: path } = environment
  // Sandboxes whose proxy answers in place of hosts name its certificate here.
  const { SSL_CERT_FILE: bundle, NODE_EXTRA_CA_CERTS: extra } = environment
  const named = [own, file, bundle, extra]
  const files = [...named, ...systemBundles].flatMap((name) => name ?? [])
  const directories = [directory, path].flatMap((name) => name ?? [])
  const texts = [...files, ...directories.flatMap(filesIn)].map(readCertificates)
  const found = texts.filter((text) => text !== '')
  return found.length === 0 ? undefined : found.join('\n')
}

function filesIn(directory: string): string[] {
  try {
    return readdirSync(directory).map((name) => `${directory}/${name}`)
  } catch {
    return []
  }
}

/** Empty for what cannot be read: the certificate of the host is refused then. */
function readCertificates(path: string): string {
  try {
    const text = readFileSync(path, 'utf8')
    return text.includes(pemMark) ? text : ''
  } catch {
    return ''
  }
}

function askGit(
  args: readonly string[],
  environment: ProcessEnvironment | undefined,
  patience: Patience,
): Promise<string | undefined> {
  const { signal } = patience
  const timeout = Math.max(1, Math.floor(patience.leftOf(performance.now())))
  const how = { cwd: '/', env: childEnvironment(environment), signal, timeout }
  const words = ['--git-dir=/dev/null', 'config', ...args]
  return new Promise((resolve, reject) => {
    execFile('git', words, { ...how, encoding: 'utf8' }, (error, stdout, stderr) => {
      if (signal?.aborted === true) reject(cancelled())
      // 1: there is no such setting. A missing git has no settings.
      else if (error === null) resolve(stdout.replace(/\n$/, ''))
      else if (typeof error.code !== 'number' || error.code === 1) resolve(undefined)
      else reject(invalidSettings(stderr))
    })
  })
}

function invalidSettings(stderr: string): StoreError {
  // Without the directory: no message contains a path.
  const text = harmless(stderr).replaceAll(/[^\s']*\/(?=[^/\s])/g, '')
  return new StoreError(
    'git_config_invalid',
    `The configuration of git on this machine cannot be read (git reports: ${text})`,
  )
}

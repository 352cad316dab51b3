// What a connection takes from the user: the environment for child processes, and the settings of
// git, as git itself reads them outside of every repository, since what a repository names is not
// trusted (THREAT-MODEL T22). Without git, no setting applies. HTTP proxies are not supported: the
// error of a failed connection names one that is configured. Must not change anything.

import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { StoreError, hasCode } from '../errors.ts'
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

/** A setting; undefined if it is absent. Throws `git_config_invalid` or `cancelled`. */
export function findGitSetting(
  name: string,
  environment: ProcessEnvironment | undefined,
  patience: Patience,
): Promise<string | undefined> {
  return askGit(['--get', name], environment, patience)
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
  const { GIT_SSL_CAPATH: path, SSL_CERT_FILE: bundle } = environment
  const files = [file, bundle, ...systemBundles].flatMap((name) => name ?? [])
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
      else if (error === null || typeof error.code !== 'number' || error.code === 1) {
        resolve(stdout.replace(/\n$/, '') || undefined)
      } else reject(invalidSettings(stderr))
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

const gitMsMax = 2000

/** Replaces a failure to connect to `url`, if a proxy is configured for it. */
export async function withProxyHint(
  error: unknown,
  url: string,
  environment: ProcessEnvironment = {},
): Promise<unknown> {
  if (!hasCode(error, 'remote_unreachable', 'remote_timeout')) return error
  const source = findVariable(new URL(url), environment) ?? (await findSetting(url, environment))
  if (source === undefined) return error
  const advice = 'proxies are not supported: use ssh, or connect directly'
  const hint = `${source} names a proxy, and ${advice}`
  return new StoreError(error.code, `${error.message}; ${hint}`, { cause: error })
}

/** The variable from which curl, and so git, reads the proxy. */
function findVariable(
  { protocol, hostname }: URL,
  environment: ProcessEnvironment,
): string | undefined {
  const exempt = environment['no_proxy'] ?? environment['NO_PROXY'] ?? ''
  if (exempt.split(',').some((name) => isExempt(hostname, name.trim()))) return undefined
  // Not HTTP_PROXY: in CGI programs a request header can set it, so curl ignores it.
  const specific = protocol === 'https:' ? ['https_proxy', 'HTTPS_PROXY'] : ['http_proxy']
  return [...specific, 'all_proxy', 'ALL_PROXY'].find((name) => (environment[name] ?? '') !== '')
}

function isExempt(host: string, name: string): boolean {
  const bare = name.replace(/^\./, '')
  return name === '*' || (bare !== '' && (host === bare || host.endsWith(`.${bare}`)))
}

/** `http.proxy`, including one for this host only. */
function findSetting(url: string, environment: ProcessEnvironment): Promise<string | undefined> {
  const how = { cwd: '/', env: childEnvironment(environment), timeout: gitMsMax }
  return new Promise((resolve) => {
    execFile('git', ['config', '--get-urlmatch', 'http.proxy', url], how, (_, stdout) => {
      resolve(stdout.trim() === '' ? undefined : 'http.proxy of git')
    })
  })
}

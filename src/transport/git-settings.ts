// The settings of git that belong to a connection, as git itself reads them: it is asked outside of
// every repository, as what a repository names is not trusted (THREAT-MODEL T22). Without git, no
// setting applies. Must not change anything.

import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { StoreError } from '../errors.ts'
import { childEnvironment } from './environment.ts'
import type { ProcessEnvironment } from './remote-access.ts'
import { harmless } from './server-text.ts'
import { cancelled, type Patience } from './stall.ts'

const pemMark = '-----BEGIN CERTIFICATE-----'
/** Where curl, and so git, finds the certificates that the system trusts. */
const systemBundles: readonly string[] = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/cert.pem',
]

export interface GitSettings {
  /** A setting; undefined if it is absent. Throws `git_config_invalid` or `cancelled`. */
  get(name: string): Promise<string | undefined>
  /** The same of a path for an address, where `http.<url>.…` may have another value. */
  getPathFor(url: string, name: string): Promise<string | undefined>
}

export function gitSettings(
  environment: ProcessEnvironment | undefined,
  patience: Patience,
): GitSettings {
  const ask = async (...args: readonly string[]): Promise<string | undefined> => {
    const value = await askGit(args, environment, patience)
    return value === '' ? undefined : value
  }
  return {
    get: (name) => ask('--get', name),
    getPathFor: (url, name) => ask('--type=path', '--get-urlmatch', name, url),
  }
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
  const settings = gitSettings(environment, patience)
  const file = await settings.getPathFor(url, 'http.sslCAInfo')
  const directory = await settings.getPathFor(url, 'http.sslCAPath')
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
): Promise<string> {
  const { signal } = patience
  const timeout = Math.max(1, Math.floor(patience.leftOf(performance.now())))
  const how = { cwd: '/', env: childEnvironment(environment), signal, timeout }
  const words = ['--git-dir=/dev/null', 'config', ...args]
  return new Promise((resolve, reject) => {
    execFile('git', words, { ...how, encoding: 'utf8' }, (error, stdout, stderr) => {
      if (signal?.aborted === true) reject(cancelled())
      // 1: there is no such setting. A missing git has no settings.
      else if (error === null || typeof error.code !== 'number' || error.code === 1) {
        resolve(stdout.replace(/\n$/, ''))
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

// Detects HTTP proxies, which the wire does not support: if one is configured, it is the likely
// reason for a failed connection, and the error names it. Called only after a failure.

import { execFile } from 'node:child_process'
import { hasCode, StoreError } from '../errors.ts'
import { childEnvironment } from './environment.ts'
import type { ProcessEnvironment } from './remote-access.ts'

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

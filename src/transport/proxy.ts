// HTTP proxies, which the wire does not speak to: where one is configured, it is the likely reason
// that a host cannot be reached, and the failure says so. Looked for only after a failure.

import { execFile } from 'node:child_process'
import { hasCode, StoreError } from '../errors.ts'
import { childEnvironment } from './environment.ts'
import type { ProcessEnvironment } from './remote-access.ts'

const gitMsMax = 2000

/** What to throw in place of a failure to connect to `url`. */
export async function withProxyHint(
  error: unknown,
  url: string,
  environment: ProcessEnvironment = {},
): Promise<unknown> {
  if (!hasCode(error, 'remote_unreachable', 'remote_timeout')) return error
  const place = findVariable(new URL(url), environment) ?? (await findSetting(url, environment))
  if (place === undefined) return error
  const hint = `${place} names a proxy, and proxies are not supported: use ssh, or a direct way`
  return new StoreError(error.code, `${error.message}; ${hint}`, { cause: error })
}

/** The variable that curl, and so git, would take the proxy from. */
function findVariable(
  { protocol, hostname }: URL,
  environment: ProcessEnvironment,
): string | undefined {
  const exempt = environment['no_proxy'] ?? environment['NO_PROXY'] ?? ''
  if (exempt.split(',').some((name) => isExempt(hostname, name.trim()))) return undefined
  // In capitals it could be a header of a request to a CGI program: curl does not look at it.
  const own = protocol === 'https:' ? ['https_proxy', 'HTTPS_PROXY'] : ['http_proxy']
  return [...own, 'all_proxy', 'ALL_PROXY'].find((name) => (environment[name] ?? '') !== '')
}

function isExempt(host: string, name: string): boolean {
  const bare = name.replace(/^\./, '')
  return name === '*' || (bare !== '' && (host === bare || host.endsWith(`.${bare}`)))
}

/** `http.proxy`, also of this host alone. */
function findSetting(url: string, environment: ProcessEnvironment): Promise<string | undefined> {
  const how = { cwd: '/', env: childEnvironment(environment), timeout: gitMsMax }
  return new Promise((resolve) => {
    execFile('git', ['config', '--get-urlmatch', 'http.proxy', url], how, (_, stdout) => {
      resolve(stdout.trim() === '' ? undefined : 'http.proxy of git')
    })
  })
}

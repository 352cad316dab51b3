// Parses addresses of remotes in the forms that git accepts: https://, ssh://, user@host:path,
// file:// and absolute paths. Pure. Must refuse anything that a program could take for an option or
// a command, and credentials, which would end up in config files and messages.

import { StoreError } from '../errors.ts'

export type RemoteUrl = HttpUrl | SshUrl | FileUrl

export interface HttpUrl {
  readonly kind: 'http'
  /** As stored and shown; without a trailing slash. */
  readonly text: string
}

export interface SshUrl {
  readonly kind: 'ssh'
  readonly text: string
  readonly user: string | undefined
  /** A name or an address; an IPv6 address has no brackets. */
  readonly host: string
  readonly port: number | undefined
  /** The path on the host: absolute, below a home directory (`~…`), or relative to the user's. */
  readonly path: string
}

export interface FileUrl {
  readonly kind: 'file'
  readonly text: string
  /** The absolute path. */
  readonly path: string
}

export interface RemoteUrlOptions {
  /** Also allows http:// to other machines. */
  readonly allowHttp?: boolean | undefined
}

const userPattern = /^[A-Za-z0-9_][A-Za-z0-9._+-]*$/
const hostPattern = /^(?:[A-Za-z0-9_][A-Za-z0-9_.-]*|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*)$/
const loopbackPattern = /^(?:localhost|127(?:\.[0-9]{1,3}){3}|\[::1\])$/
const textLengthMax = 2048
/** What an address of the format names (FORMAT §1.8): it is taken off where it is checked. */
const pinPattern = /#memstore_[0-9a-z]*(?:\+[0-9a-z]*)?$/i

/** Throws `invalid_input`; the message never repeats the address. */
export function parseRemoteUrl(text: string, { allowHttp }: RemoteUrlOptions = {}): RemoteUrl {
  if (text === '' || text.length > textLengthMax || !/^\P{C}+$/u.test(text)) {
    throw invalid('it is empty, too long, or holds control characters')
  }
  if (pinPattern.test(text)) throw invalid('it ends in a store id, which is not checked here')
  if (/^https?:\/\//i.test(text)) return parseHttp(text, allowHttp === true)
  if (/^ssh:\/\//i.test(text)) return parseSsh(text)
  if (/^file:\/\//i.test(text)) return parseFile(text)
  if (text.startsWith('/')) return { kind: 'file', text, path: text }
  const scheme = /^[A-Za-z][A-Za-z0-9+.-]*(?=:\/\/|::)/.exec(text)
  if (scheme !== null) throw invalid('its scheme is not https, ssh or file')
  return parseScpLike(text)
}

function parseHttp(text: string, allowHttp: boolean): HttpUrl {
  const url = parseUrl(text)
  if (url.username !== '' || url.password !== '' || text.includes('@', 8)) refuseCredentials(url)
  if (url.search !== '' || url.hash !== '') throw invalid('it has a query or a fragment')
  if (url.protocol === 'http:' && !allowHttp && !loopbackPattern.test(url.hostname)) {
    throw invalid('http:// can be read and changed on the way: use https://')
  }
  return { kind: 'http', text: `${url.origin}${url.pathname.replace(/\/+$/, '')}` }
}

function parseSsh(text: string): SshUrl {
  const match = /^ssh:\/\/(?:([^@/]*)@)?(\[[^\]/]*\]|[^:/]*)(?::([0-9]+))?(\/.*)$/i.exec(text)
  if (match === null) throw invalid('it must look like ssh://user@host/path')
  const [, user, host = '', port, path = ''] = match
  const decoded = decodePercent(path)
  return sshUrl(text, {
    user,
    host: host.replaceAll(/[[\]]/g, ''),
    port: port === undefined ? undefined : Number(port),
    // As in git: a path that starts with a home directory has no leading slash.
    path: decoded.startsWith('/~') ? decoded.slice(1) : decoded,
  })
}

function parseScpLike(text: string): SshUrl {
  const match = /^(?:([^@/:]*)@)?(\[[^\]/]*\]|[^@:/]+):(.+)$/.exec(text)
  if (match === null) {
    throw invalid('it must be https://…, ssh://…, user@host:path, file://… or an absolute path')
  }
  const [, user, host = '', path = ''] = match
  // Probably meant as user:password@host:path.
  if (user === undefined && /^[^/@]*@[^/:]+:/.test(path)) refuseCredentials()
  return sshUrl(text, { user, host: host.replaceAll(/[[\]]/g, ''), port: undefined, path })
}

function sshUrl(text: string, parts: Omit<SshUrl, 'kind' | 'text'>): SshUrl {
  const { user, host, port, path } = parts
  if (user?.includes(':') === true) refuseCredentials()
  if (user !== undefined && !userPattern.test(user)) throw invalid('its user name is not allowed')
  if (!hostPattern.test(host)) throw invalid('its host is not allowed')
  if (port !== undefined && (port < 1 || port > 65_535)) throw invalid('its port is out of range')
  checkPath(path)
  return { kind: 'ssh', text, ...parts }
}

function parseFile(text: string): FileUrl {
  const match = /^file:\/\/(?:localhost)?(\/.*)$/i.exec(text)
  if (match?.[1] === undefined) throw invalid('a file:// address cannot name another machine')
  const path = decodePercent(match[1])
  checkPath(path)
  return { kind: 'file', text, path }
}

function checkPath(path: string): void {
  if (path.startsWith('-')) throw invalid('its path starts with a hyphen')
  if (!/^\P{Cc}+$/u.test(path)) throw invalid('its path holds control characters')
}

function parseUrl(text: string): URL {
  try {
    return new URL(text)
  } catch {
    throw invalid('it is not a URL')
  }
}

function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw invalid('it has a % without two hex digits')
  }
}

function refuseCredentials(url?: URL): never {
  const where =
    url === undefined ? 'in an ssh key' : 'in a git credential helper, or GITLOCKET_TOKEN'
  throw invalid(`credentials do not belong in it, but ${where}`)
}

function invalid(problem: string): StoreError {
  return new StoreError('invalid_input', `The address of the remote cannot be used: ${problem}`, {
    details: { parameter: 'url' },
  })
}

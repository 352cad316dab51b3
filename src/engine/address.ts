// The address of an engine, `postgres://user:password@db1,db2:5433/database`: one host, or several
// of which one is the primary. Owns when a connection is encrypted. Must not connect, and must not
// put an address, which holds a password, into an error.

import { StoreError } from '../errors.ts'

export interface EngineHost {
  /** A name, an address, or the directory of a Unix socket. */
  readonly host: string
  readonly port: number
}

export interface EngineAddress {
  readonly hosts: readonly EngineHost[]
  readonly user: string | undefined
  readonly password: string | undefined
  readonly database: string | undefined
  /** Whether the connection is encrypted, and the host's certificate verified. */
  readonly isEncrypted: boolean
}

export interface AddressOptions {
  /** Allows a connection in plaintext to another machine. */
  readonly insecure?: boolean | undefined
}

const PORT = 5432
const urlPattern = new RegExp(
  [
    /^postgres(?:ql)?:\/\//,
    /(?:(?<user>[^:@/?]*)(?::(?<password>[^@/?]*))?@)?/,
    /(?<hosts>[^/?]*)(?:\/(?<database>[^?]*))?(?:\?(?<query>.*))?$/,
  ]
    .map(({ source }) => source)
    .join(''),
  's',
)
const hostPattern = /^(?<host>\[[0-9a-fA-F:.]+\]|[^:[\]]*)(?::(?<port>\d{1,5}))?$/
const loopbackPattern = /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/

/** Throws `invalid_input`. */
export function parseEngineAddress(url: string, options: AddressOptions = {}): EngineAddress {
  const found = urlPattern.exec(url)?.groups
  if (found === undefined) {
    throw refused('it must begin as postgres://user:password@host/database')
  }
  const query = new URLSearchParams(found['query'] ?? '')
  const hosts = parseHosts(query.get('host') ?? decoded(found['hosts']) ?? '')
  const mode = query.get('sslmode')
  for (const name of query.keys()) {
    if (name !== 'host' && name !== 'sslmode') throw refused(`it has an unknown option, ${name}`)
  }
  return {
    hosts,
    user: decoded(found['user']),
    password: decoded(found['password']),
    database: decoded(found['database']),
    isEncrypted: isEncrypted(mode, hosts, options),
  }
}

/** The port of an address without one is the standard one; a socket has a port in its name. */
function parseHosts(text: string): readonly EngineHost[] {
  const parts = text === '' ? ['localhost'] : text.split(',')
  return parts.map((part) => {
    if (part.startsWith('/')) {
      const [, path = part, port] = /^(.*?)(?::(\d{1,5}))?$/.exec(part) ?? []
      return { host: path, port: Number(port ?? PORT) }
    }
    const groups = hostPattern.exec(part)?.groups
    const host = groups?.['host']?.replaceAll(/[[\]]/g, '')
    const port = Number(groups?.['port'] ?? PORT)
    if (host === undefined || host === '' || port < 1 || port > 65_535) {
      throw refused('a host of it must be a name or an address, with :port if it is not 5432')
    }
    return { host, port }
  })
}

/**
 * Everything but this machine is reached with TLS, and the certificate is verified: `require`, with
 * which other clients skip that, means the same here.
 */
function isEncrypted(
  mode: string | null,
  hosts: readonly EngineHost[],
  { insecure = false }: AddressOptions,
): boolean {
  if (mode === 'verify-full' || mode === 'require') return true
  if (mode !== null && mode !== 'disable') {
    throw refused('sslmode is verify-full, require (the same here), or disable')
  }
  const isHere = hosts.every(({ host }) => host.startsWith('/') || loopbackPattern.test(host))
  if (isHere || insecure) return false
  if (mode === null) return true
  throw refused('sslmode=disable is for this machine; add --engine-insecure to allow it elsewhere')
}

function decoded(text: string | undefined): string | undefined {
  if (text === undefined || text === '') return undefined
  try {
    return decodeURIComponent(text)
  } catch {
    throw refused('a percent sign in it must be written as %25')
  }
}

function refused(problem: string): StoreError {
  return new StoreError('invalid_input', `The address of the engine is refused: ${problem}`)
}

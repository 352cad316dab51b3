// PostgreSQL servers for tests: clusters of their own in temporary directories, on the loopback
// interface, run as the user postgres if the tests run as root, whom PostgreSQL refuses. Ended with
// the file of tests.

import { execFileSync, spawn } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { freePort } from './free-port.ts'

type Settings = Readonly<Record<string, string>>

/** Starts a new cluster. Call it in `beforeAll`; it ends after all tests of the file. */
export async function startPostgres(settings: Settings = {}): Promise<PostgresServer> {
  const place = newPlace()
  const directory = join(place, 'data')
  run('initdb', '-D', directory, '-U', 'gl', '-A', 'trust', '-N', '--no-instructions')
  const server = new PostgresServer(place, await freePort(), settings)
  afterAll(() => server.remove())
  server.start()
  return server
}

export class PostgresServer {
  /** The cluster's files. */
  readonly directory: string
  readonly port: number
  readonly #place: string
  #databases = 0

  /** `place` has a cluster already. */
  constructor(place: string, port: number, settings: Settings) {
    this.#place = place
    this.directory = join(place, 'data')
    this.port = port
    const all = {
      listen_addresses: '127.0.0.1',
      port: String(port),
      unix_socket_directories: place,
      max_connections: '60',
      shared_buffers: '16MB',
      fsync: 'off',
      ...settings,
    }
    const lines = Object.entries(all).map(([name, value]) => `${name} = '${value}'\n`)
    writeFileSync(join(this.directory, 'postgresql.conf'), lines.join(''))
  }

  /** The address of a new, empty database. */
  database(): string {
    this.#databases += 1
    const name = `t${this.#databases}`
    this.sql(`create database ${name}`)
    return `postgres://gl@127.0.0.1:${this.port}/${name}`
  }

  /** Runs SQL as the superuser; returns the lines that psql prints. */
  sql(text: string, database: string = 'postgres'): string {
    const where = ['-h', this.#place, '-p', String(this.port), '-U', 'gl', '-d', database]
    return run('psql', ...where, '-X', '-A', '-t', '-v', 'ON_ERROR_STOP=1', '-c', text).trim()
  }

  start(): void {
    const log = join(this.#place, 'log')
    run('pg_ctl', '-D', this.directory, '-l', log, '-w', '-t', '120', 'start')
  }

  stop(): void {
    run('pg_ctl', '-D', this.directory, '-w', '-m', 'fast', 'stop')
  }

  /** Ends it as a power failure does. Its other processes end when they notice. */
  kill(): void {
    const [pid] = readFileSync(join(this.directory, 'postmaster.pid'), 'utf8').split('\n')
    process.kill(Number(pid), 'SIGKILL')
  }

  remove(): void {
    try {
      run('pg_ctl', '-D', this.directory, '-w', '-m', 'immediate', 'stop')
    } catch {
      // It does not run.
    }
    rmSync(this.#place, { recursive: true, force: true, maxRetries: 10 })
  }

  /** A standby that confirms each change from now on. */
  async addStandby(settings: Settings = {}): Promise<PostgresServer> {
    const place = newPlace()
    const directory = join(place, 'data')
    const source = `host=${this.#place} port=${this.port} user=gl`
    run('pg_basebackup', '-D', directory, '-d', source, '-R', '-c', 'fast', '-X', 'stream')
    const standby = new PostgresServer(place, await freePort(), settings)
    afterAll(() => standby.remove())
    standby.start()
    this.set('synchronous_standby_names', '*')
    await until(() => this.sql('select sync_state from pg_stat_replication').includes('sync'))
    return standby
  }

  /** Makes a standby the primary. */
  promote(): void {
    // It was copied with the settings of the primary.
    this.set('synchronous_standby_names', '')
    run('pg_ctl', '-D', this.directory, '-w', '-t', '120', 'promote')
  }

  /** Keeps a standby from receiving anything until the result is called. */
  pause(): () => void {
    const pid = Number(this.sql('select pid from pg_stat_wal_receiver'))
    process.kill(pid, 'SIGSTOP')
    return () => process.kill(pid, 'SIGCONT')
  }

  /**
   * Speaks TLS from now on, with a certificate for one host name. Returns the file with the
   * certificate of the authority.
   */
  encrypt(hostName: string): string {
    const file = (name: string): string => join(this.#place, name)
    const openssl = (...args: string[]): unknown => execFileSync('openssl', args, { stdio: 'pipe' })
    const key = [
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
      '-days',
      '2',
    ]
    const [ca, caKey] = [file('ca.pem'), file('ca.key')]
    openssl('req', '-x509', ...key, '-subj', '/CN=authority', '-keyout', caKey, '-out', ca)
    const signed = ['-CA', ca, '-CAkey', caKey, '-addext', `subjectAltName=DNS:${hostName}`]
    const out = ['-keyout', file('server.key'), '-out', file('server.pem')]
    openssl('req', '-x509', ...key, '-subj', '/CN=database', ...signed, ...out)
    const user = serverUser()
    if (user !== undefined) chownSync(file('server.key'), user.uid, user.gid)
    this.set('ssl_cert_file', file('server.pem'))
    this.set('ssl_key_file', file('server.key'))
    this.set('ssl', 'on')
    return ca
  }

  /** Starts a PgBouncer in front of it, in transaction mode; returns its port. */
  async startPooler(): Promise<number> {
    const port = await freePort()
    const config = join(this.#place, 'pooler')
    const lines = [
      '[databases]',
      `* = host=127.0.0.1 port=${this.port} user=gl`,
      '[pgbouncer]',
      'listen_addr = 127.0.0.1',
      `listen_port = ${port}`,
      'unix_socket_dir =',
      'auth_type = any',
      'pool_mode = transaction',
      'default_pool_size = 5',
    ]
    writeFileSync(config, lines.join('\n'))
    const user = serverUser()
    const pooler = spawn('pgbouncer', [config], { stdio: ['ignore', 'ignore', 'pipe'], ...user })
    afterAll(() => void pooler.kill('SIGKILL'))
    for await (const line of pooler.stderr.setEncoding('utf8')) {
      if (String(line).includes('process up')) break
    }
    return port
  }

  set(name: string, value: string): void {
    this.sql(`alter system set ${name} = '${value}'`)
    this.sql('select pg_reload_conf()')
  }
}

export async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 20))
}

function newPlace(): string {
  const place = mkdtempSync(join(tmpdir(), 'gitlocket-pg-'))
  // The user postgres must reach the files below, and write there.
  chmodSync(tmpdir(), statSync(tmpdir()).mode | 0o011)
  const user = serverUser()
  if (user !== undefined) chownSync(place, user.uid, user.gid)
  return place
}

function run(program: string, ...args: readonly string[]): string {
  const path = `${binaries()}/${program}`
  const [command, given] =
    serverUser() === undefined
      ? [path, args]
      : ['setpriv', ['--reuid=postgres', '--regid=postgres', '--clear-groups', path, ...args]]
  // A server that is started keeps its standard output: it must not be this one.
  return execFileSync(command, given, {
    encoding: 'utf8',
    stdio: ['ignore', program === 'pg_ctl' ? 'ignore' : 'pipe', 'pipe'],
    cwd: '/',
    maxBuffer: 1024 ** 3,
  })
}

/** Debian keeps the server's programs outside the PATH, by version. */
function binaries(): string {
  const root = '/usr/lib/postgresql'
  const newest = readdirSync(root).toSorted((a, b) => Number(b) - Number(a))[0]
  return `${root}/${newest}/bin`
}

function serverUser(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  const id = (flag: string): number => Number(execFileSync('id', [flag, 'postgres']))
  return { uid: id('-u'), gid: id('-g') }
}

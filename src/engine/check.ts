// What `engine check` finds out about a database: whether it can serve, and what it would lose with
// its primary.

import { Engine, type EngineOptions } from './engine.ts'
import type { EnginePool } from './pool.ts'

export interface EngineReport {
  /** Such as 150018 for 15.18. */
  readonly serverVersion: number
  readonly synchronousCommit: string
  /** Without these two settings, a power failure damages the database. */
  readonly fsync: boolean
  readonly fullPageWrites: boolean
  /** Whether standbys confirm each change before it is acknowledged. */
  readonly hasSynchronousStandby: boolean
  /** Standbys that are connected, whether they confirm changes or not. */
  readonly standbys: number
  /** Milliseconds, the median of some statements. */
  readonly roundTripMs: number
  /** Milliseconds by which the database's clock is ahead of this machine's. */
  readonly clockAheadMs: number
  /** Servers that run, and how many of them are of an earlier release than the newest. */
  readonly servers: number
  readonly olderServers: number
  /** Whether a pooler is between this machine and the database. */
  readonly isPooled: boolean
  readonly warnings: readonly string[]
}

const VERSION_MIN = 150_000
const ROUNDS = 9
const CLOCK_MS_MAX = 2000

/** Throws what `Engine.open` throws. */
export async function checkEngine(
  options: EngineOptions,
  now: () => number,
): Promise<EngineReport> {
  const engine = await Engine.open(options)
  try {
    const { pool } = engine
    const [settings] = (await pool.repeat(findSettings, [])).rows
    const [running] = (await pool.repeat(countServers, [])).rows
    const roundTripMs = await measureRoundTrip(pool)
    const serverVersion = Number(settings?.['version'])
    const synchronousCommit = String(settings?.['commit'])
    const fsync = settings?.['fsync'] === 'on'
    const fullPageWrites = settings?.['pages'] === 'on'
    const hasSynchronousStandby = settings?.['synchronous'] !== ''
    const standbys = Number(settings?.['standbys'])
    const clockAheadMs = Math.round(Number(settings?.['clock']) - now())
    const isPooled = await pool.isPooled()
    const found = {
      serverVersion,
      synchronousCommit,
      fsync,
      fullPageWrites,
      hasSynchronousStandby,
      standbys,
      clockAheadMs,
      isPooled,
    }
    const [servers, olderServers] = [Number(running?.['all']), Number(running?.['older'])]
    return { ...found, servers, olderServers, roundTripMs, warnings: warningsOf(found, options) }
  } finally {
    await engine.close()
  }
}

type CheckedSettings = Omit<EngineReport, 'warnings' | 'roundTripMs' | 'servers' | 'olderServers'>

function warningsOf(found: CheckedSettings, options: EngineOptions): readonly string[] {
  const { serverVersion, clockAheadMs, isPooled } = found
  const warnings = [...lossesOf(found)]
  if (serverVersion < VERSION_MIN) {
    warnings.unshift('The server is older than PostgreSQL 15, with which no test has been made.')
  }
  if (Math.abs(clockAheadMs) > CLOCK_MS_MAX) {
    warnings.push(
      `The clocks of the database and of this machine differ by ${clockAheadMs} ms: sessions ` +
        'expire at other times, and versions have wrong ones. Set both by NTP.',
    )
  }
  if (isPooled && options.unnamed !== true) {
    warnings.push(
      'A pooler shares connections: with PgBouncer before 1.21 in transaction mode, use ' +
        '--engine-unnamed.',
    )
  }
  return warnings
}

/** How acknowledged changes could be lost. */
function lossesOf(found: CheckedSettings): readonly string[] {
  const { synchronousCommit, fsync, fullPageWrites, hasSynchronousStandby, standbys } = found
  const warnings: string[] = []
  if (!fsync) {
    warnings.push(
      'fsync is off: unless a service replicates the storage of the database, a power failure ' +
        'loses acknowledged changes and damages it. Set it to on.',
    )
  }
  if (!fullPageWrites) {
    warnings.push(
      'full_page_writes is off: unless its storage writes pages as a whole, a power failure ' +
        'damages the database. Set it to on.',
    )
  }
  if (synchronousCommit === 'off' || synchronousCommit === 'local') {
    warnings.push(
      `synchronous_commit is ${synchronousCommit}: acknowledged changes can be lost. Set it to on.`,
    )
  }
  if (!hasSynchronousStandby) {
    const which = standbys === 0 ? 'No standby confirms' : 'Standbys follow, but none confirms'
    warnings.push(
      `${which} changes (synchronous_standby_names is empty): unless the storage of the ` +
        'database is replicated, acknowledged changes are lost with its primary.',
    )
  } else if (standbys === 0) {
    warnings.push(
      'No standby is connected, and synchronous_standby_names asks for one: each change waits.',
    )
  }
  return warnings
}

async function measureRoundTrip(pool: EnginePool): Promise<number> {
  const times: number[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    const start = performance.now()
    await pool.repeat(ping, [])
    times.push(performance.now() - start)
  }
  return times.toSorted((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? 0
}

const ping = { name: 'gl_ping', text: 'select 1' }
const countServers = {
  name: 'gl_count_servers',
  text: `select count(*) as all, count(*) filter (where format < newest) as older from (
    select format, max(format) over () as newest from gl_server
      where at > now() - interval '2 minutes') as running`,
}
const findSettings = {
  name: 'gl_settings',
  text: `select current_setting('server_version_num') as version,
    current_setting('synchronous_commit') as commit,
    current_setting('fsync') as fsync, current_setting('full_page_writes') as pages,
    current_setting('synchronous_standby_names') as synchronous,
    (select count(*) from pg_stat_replication) as standbys,
    extract(epoch from clock_timestamp()) * 1000 as clock`,
}

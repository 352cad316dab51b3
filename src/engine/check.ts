// What `engine check` finds out about a database: whether it can serve, and what it would lose with
// its primary.

import { Engine, type EngineOptions } from './engine.ts'
import type { EnginePool } from './pool.ts'

export interface EngineReport {
  /** Such as 150018 for 15.18. */
  readonly serverVersion: number
  readonly synchronousCommit: string
  /** Whether standbys confirm each change before it is acknowledged. */
  readonly hasSynchronousStandby: boolean
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
    const hasSynchronousStandby = settings?.['standbys'] !== ''
    const clockAheadMs = Math.round(Number(settings?.['clock']) - now())
    const isPooled = await pool.isPooled()
    const found = {
      serverVersion,
      synchronousCommit,
      hasSynchronousStandby,
      clockAheadMs,
      isPooled,
    }
    const [servers, olderServers] = [Number(running?.['all']), Number(running?.['older'])]
    return { ...found, servers, olderServers, roundTripMs, warnings: warningsOf(found, options) }
  } finally {
    await engine.close()
  }
}

function warningsOf(
  found: Omit<EngineReport, 'warnings' | 'roundTripMs' | 'servers' | 'olderServers'>,
  options: EngineOptions,
): readonly string[] {
  const warnings: string[] = []
  if (found.serverVersion < VERSION_MIN) {
    warnings.push('The server is older than PostgreSQL 15, with which no test has been made.')
  }
  if (found.synchronousCommit === 'off' || found.synchronousCommit === 'local') {
    warnings.push(
      `synchronous_commit is ${found.synchronousCommit}: acknowledged changes can be lost. ` +
        'Set it to on.',
    )
  }
  if (!found.hasSynchronousStandby) {
    warnings.push(
      'No standby confirms changes (synchronous_standby_names is empty): unless the storage of ' +
        'the database is replicated, acknowledged changes are lost with its primary.',
    )
  }
  if (Math.abs(found.clockAheadMs) > CLOCK_MS_MAX) {
    warnings.push(
      `The clocks of the database and of this machine differ by ${found.clockAheadMs} ms.`,
    )
  }
  if (found.isPooled && options.unnamed !== true) {
    warnings.push('A pooler shares connections: with PgBouncer before 1.21, use --engine-unnamed.')
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
    current_setting('synchronous_standby_names') as standbys,
    extract(epoch from clock_timestamp()) * 1000 as clock`,
}

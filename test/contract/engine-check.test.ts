// What `engine check` warns of, each seen at a real server.

import { beforeAll, describe, expect, test } from 'vitest'
import { checkEngine, type EngineReport } from '../../src/engine/check.ts'
import { initEngine } from '../../src/engine/engine.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { requires } from '../support/tools.ts'

const postgres = requires('postgres')

describe.skipIf(postgres.missing)(`a check of a database${postgres.note}`, () => {
  let server: PostgresServer
  let url: string
  beforeAll(async () => {
    server = await startPostgres({ fsync: 'on' })
    url = server.database()
    await initEngine({ url, connections: 1 })
  })

  const check = (now: () => number = Date.now): Promise<EngineReport> => {
    return checkEngine({ url, connections: 2 }, now)
  }

  async function expectWarnings(...beginnings: readonly string[]): Promise<EngineReport> {
    // Settings are loaded a moment after they were changed.
    const warnings = async (): Promise<readonly string[]> => {
      return (await check()).warnings.map((text) => text.split(/[ :]/).slice(0, 2).join(' '))
    }
    await expect.poll(warnings).toEqual(beginnings)
    return check()
  }

  test('tells how changes are made durable', async () => {
    expect(await expectWarnings('No standby')).toMatchObject({
      fsync: true,
      fullPageWrites: true,
      synchronousCommit: 'on',
      hasSynchronousStandby: false,
      standbys: 0,
    })
    const standby = await server.addStandby()
    expect(await expectWarnings()).toMatchObject({ hasSynchronousStandby: true, standbys: 1 })
    server.set('synchronous_standby_names', '')
    const { warnings } = await expectWarnings('Standbys follow,')
    expect(warnings[0]).toContain('none confirms')
    server.set('synchronous_standby_names', '*')
    standby.stop()
    await expect.poll(async () => (await check()).standbys).toBe(0)
    await expectWarnings('No standby')
    server.set('synchronous_standby_names', '')
    for (const name of ['fsync', 'full_page_writes', 'synchronous_commit']) server.set(name, 'off')
    const report = await expectWarnings(
      'fsync is',
      'full_page_writes is',
      'synchronous_commit is',
      'No standby',
    )
    expect(report).toMatchObject({ fsync: false, fullPageWrites: false, synchronousCommit: 'off' })
  })

  test('notices a clock that is wrong', async () => {
    const { warnings, clockAheadMs } = await check(() => Date.now() + 3_600_000)
    expect(Math.round(clockAheadMs / 60_000)).toBe(-60)
    expect(warnings.at(-1)).toContain('clocks')
  })
})

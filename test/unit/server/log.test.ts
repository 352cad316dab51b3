// The log: a line for each request, with nothing of what it holds.

import { expect, test } from 'vitest'
import { type FileStatus, systemDisk } from '../../../src/disk/disk.ts'
import type { LogLine } from '../../../src/server/server.ts'
import { newServedStore, serveStores } from '../../support/served-stores.ts'

test('a line has route, status and key, and no path, query, content or token', async () => {
  const lines: LogLine[] = []
  const served = await serveStores({ log: (line) => lines.push(line) })
  const path = await newServedStore(served, 'canary-name')
  const body = { path: '/canary-path', content: 'canary-content' }
  const { headers } = await served.ask('POST', `${path}/memories?x=canary-query`, { body })
  await served.ask('POST', `${path}/memories`, { body })
  await served.ask('GET', '/canary-route', { headers: { 'x-api-key': 'canary-token' } })

  expect(lines.slice(1)).toEqual([
    {
      request_id: headers.get('request-id'),
      method: 'POST',
      route: '/v1/memory_stores/:memory_store_id/memories',
      status: 200,
      ms: expect.any(Number),
      key_id: expect.stringMatching(/^apikey_/),
    },
    expect.objectContaining({ status: 409, error: 'path_conflict' }),
    expect.objectContaining({ status: 401, route: null, key_id: null, error: 'unauthenticated' }),
  ])
  expect(JSON.stringify(lines)).not.toContain('canary')
  expect(JSON.stringify(lines)).not.toContain(served.token)
})

test('a line of an error without a code has its place, not its message', async () => {
  const lines: LogLine[] = []
  let failing = false
  const stat = (path: string): FileStatus | undefined => {
    if (failing) throw new TypeError('canary-message\n    at canary.js:1:1')
    return systemDisk.stat(path)
  }
  const disk = { ...systemDisk, stat }
  const served = await serveStores({ log: (line) => lines.push(line), disk })
  failing = true
  const { status, json } = await served.ask('GET', '/v1/memory_stores')
  failing = false
  expect([status, json.error.type]).toEqual([500, 'api_error'])
  const line = lines.at(-1)
  expect(line).toMatchObject({ status: 500, error: 'unexpected' })
  expect(line?.at?.[0]).toMatch(/^log\.test\.ts:\d+:\d+$/)
  expect(JSON.stringify([line, json])).not.toContain('canary')
})

// The log: a line for each request, with nothing of what it holds.

import { describe, expect, test } from 'vitest'
import type { FileStatus } from '../../../src/disk/disk.ts'
import { systemDisk } from '../../../src/disk/system-disk.ts'
import { mcpRoute } from '../../../src/mcp/mcp.ts'
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

describe('the trace of a request', () => {
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
  const parentId = '00f067aa0ba902b7'

  test('is in its line and in its answer', async () => {
    const lines: LogLine[] = []
    const served = await serveStores({ log: (line) => lines.push(line) })
    const { headers } = await served.ask('GET', '/v1/memory_stores', {
      headers: { traceparent: `00-${traceId}-${parentId}-01` },
    })
    const [line] = lines
    expect(line).toMatchObject({
      trace_id: traceId,
      span_id: expect.stringMatching(/^[0-9a-f]{16}$/),
    })
    expect(line?.span_id).not.toBe(parentId)
    expect(headers.get('traceresponse')).toBe(`00-${traceId}-${line?.span_id}-01`)
  })

  test.each([
    ['no header', undefined],
    ['a header of zeros', `00-${'0'.repeat(32)}-${parentId}-01`],
    ['a parent of zeros', `00-${traceId}-${'0'.repeat(16)}-01`],
    ['the forbidden version', `ff-${traceId}-${parentId}-01`],
    ['capital letters', `00-${traceId.toUpperCase()}-${parentId}-01`],
    ['anything else', 'canary-trace'],
  ])('is ignored if it is %s', async (_, traceparent) => {
    const lines: LogLine[] = []
    const served = await serveStores({ log: (line) => lines.push(line) })
    const { headers, status } = await served.ask('GET', '/v1/memory_stores', {
      headers: { traceparent },
    })
    expect([status, headers.get('traceresponse')]).toEqual([200, null])
    expect(lines).toEqual([expect.not.objectContaining({ trace_id: expect.anything() })])
  })

  test('is that of `_meta` in a call by MCP without the header', async () => {
    const lines: LogLine[] = []
    const served = await serveStores({ log: (line) => lines.push(line), routes: [mcpRoute()] })
    await newServedStore(served)
    const params = {
      name: 'memory_list',
      arguments: {},
      _meta: { traceparent: `00-${traceId}-${parentId}-00` },
    }
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
    const headers = {
      authorization: `Bearer ${served.token}`,
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'mcp-protocol-version': '2025-11-25',
    }
    const init = { method: 'POST', body: JSON.stringify(call), headers }
    const answer = await served.server.fetch(new Request('http://localhost/mcp', init))
    expect(await answer.text()).toContain('"result"')
    expect(lines.at(-1)).toMatchObject({ route: '/mcp', status: 200, trace_id: traceId })
    expect(answer.headers.get('traceresponse')).toContain(traceId)
  })
})

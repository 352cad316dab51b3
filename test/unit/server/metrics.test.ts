// The figures of a server for Prometheus: what they count, and what no label holds.

import perfHooks from 'node:perf_hooks'
import { expect, test, vi } from 'vitest'
import { newServedStore, serveStores } from '../../support/served-stores.ts'
import { temporaryDirectory } from '../../support/temporary.ts'

async function readMetrics(url: string | undefined): Promise<readonly string[]> {
  const response = await fetch(url ?? '')
  expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=/)
  return (await response.text()).split('\n')
}

test('requests are counted by method, pattern and status', async () => {
  const served = await serveStores({ metrics: { port: 0 } })
  const { url, metricsUrl } = await served.server.listen()
  const path = await newServedStore(served, 'canary-name')
  const body = { path: '/canary-path', content: 'canary-content' }
  await served.ask('POST', `${path}/memories`, { body })
  await served.ask('POST', `${path}/memories`, { body })
  await fetch(`${url}/canary-route`, { method: 'PROPFIND' })
  const lines = await readMetrics(metricsUrl)
  const route = 'route="/v1/memory_stores/:memory_store_id/memories"'
  expect(lines).toEqual(
    expect.arrayContaining([
      `gitlocket_requests_total{method="POST",${route},status="200"} 1`,
      `gitlocket_requests_total{method="POST",${route},status="409"} 1`,
      'gitlocket_requests_total{method="other",route="none",status="401"} 1',
      `gitlocket_request_seconds_count{${route}} 2`,
      'gitlocket_request_errors_total{code="path_conflict"} 1',
      'gitlocket_open_stores 1',
    ]),
  )
  const text = lines.join('\n')
  expect(text).toMatch(/^nodejs_eventloop_lag_seconds \d/m)
  expect(text).not.toMatch(/canary|memstore_|apikey_/i)
})

test('servers of one process share its observers, which cannot be stopped', async () => {
  const observers = vi.spyOn(perfHooks, 'monitorEventLoopDelay')
  for (let count = 0; count < 3; count += 1) {
    const served = await serveStores({ metrics: { port: 0 } })
    const { metricsUrl } = await served.server.listen()
    const text = (await readMetrics(metricsUrl)).join('\n')
    expect(text.match(/^# TYPE nodejs_eventloop_lag_seconds /gm)).toHaveLength(1)
    expect(text).toMatch(/^gitlocket_open_stores 0$/m)
    await served.server.close()
  }
  expect(observers.mock.calls.length).toBeLessThanOrEqual(1)
  observers.mockRestore()
})

test('failures outside of requests are counted by their code', async () => {
  const notices: unknown[] = []
  const served = await serveStores({
    metrics: { port: 0 },
    syncEveryMs: 5,
    notice: (notice) => notices.push(notice),
  })
  const { metricsUrl } = await served.server.listen()
  const path = await newServedStore(served)
  const storeId = path.split('/').at(-1) ?? ''
  await served.host.operator.use(storeId, (store) =>
    store.remotes.add('origin', `${temporaryDirectory()}/missing.git`),
  )
  await expect.poll(() => notices.length).toBeGreaterThan(0)
  const lines = await readMetrics(metricsUrl)
  expect(lines.join('\n')).toMatch(
    /^gitlocket_background_failures_total\{code="remote_\w+"\} \d+$/m,
  )
})

test('anything else than the figures is not found, and closing ends them', async () => {
  const served = await serveStores({ metrics: { port: 0 } })
  const { metricsUrl = '' } = await served.server.listen()
  expect((await fetch(metricsUrl, { method: 'POST' })).status).toBe(404)
  expect((await fetch(new URL('/', metricsUrl))).status).toBe(404)
  await served.server.close()
  await expect(fetch(metricsUrl)).rejects.toThrow('fetch failed')
})

test('a port that is taken is refused, and nothing listens then', async () => {
  const first = await serveStores({ metrics: { port: 0 } })
  const { metricsUrl = '' } = await first.server.listen()
  const second = await serveStores({ metrics: { port: Number(new URL(metricsUrl).port) } })
  await expect(second.server.listen()).rejects.toMatchObject({ code: 'invalid_input' })
})

// `serve status` on the built command line: a server that runs, one that was stopped, one that was
// killed.
// @module-tag slow

import { once } from 'node:events'
import { expect, test } from 'vitest'
import { ended, type Home, newHome } from './cli-process.ts'

const stopped = { exitCode: 3, stdout: expect.stringContaining('not running') }

function statusOf(home: Home) {
  return home.call(['serve', 'status'])
}

test('shows a running server, and none that was stopped or killed', async () => {
  const home = newHome()
  expect(await statusOf(home)).toMatchObject(stopped)
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    const child = home.start(['serve', '--port', '0', '--json'], {})
    const end = ended(child)
    const [line] = child.stdout === null ? [''] : await once(child.stdout, 'data')
    const { url } = JSON.parse(String(line))
    const { stdout } = await home.call(['serve', 'status', '--json'])
    const counts = { stores: 0, open_stores: 0, last_sync_at: null }
    expect(JSON.parse(stdout)).toMatchObject({
      type: 'serve_status',
      running: true,
      url,
      ...counts,
    })
    child.kill(signal)
    await end
    expect(await statusOf(home)).toMatchObject(stopped)
  }
})

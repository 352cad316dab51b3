// The conformance suite of the Model Context Protocol, 0.1.13, against the real server: the
// scenarios that need no tools, prompts or resources of the suite's own (docs/MCP.md names them).
// The suite has no credential, so a proxy adds one and leaves all else as it is.

import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import { createRequire } from 'node:module'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { mcpRoute } from '../../src/mcp/mcp.ts'
import { runningServer } from '../support/running-server.ts'
import { temporaryDirectory } from '../support/temporary.ts'

const require = createRequire(import.meta.url)
const suite = require.resolve('@modelcontextprotocol/conformance/dist/index.js')
const scenarios = [
  'server-initialize',
  'ping',
  'tools-list',
  'resources-list',
  'server-sse-multiple-streams',
  'dns-rebinding-protection',
]

const proxy = createServer((incoming, outgoing) => {
  const headers = { ...incoming.headers, 'x-api-key': at.key.secret }
  const { method, url } = incoming
  const onward = request(new URL(url ?? '/', at.url), { method, headers }, (answer) => {
    outgoing.writeHead(answer.statusCode ?? 500, answer.headers)
    answer.pipe(outgoing)
  })
  incoming.pipe(onward)
})
const url = `http://localhost:${await listen()}`
// The suite wants pages of the server's own address to be let in.
const at = runningServer({ routes: [mcpRoute()], allowedOrigins: [url] })

beforeAll(() => at.store({ name: 'notes' }))
afterAll(() => proxy.close())

async function listen(): Promise<number> {
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const address = proxy.address()
  return typeof address === 'object' ? (address?.port ?? 0) : 0
}

test.each(scenarios)('%s', { tags: 'slow' }, async (scenario) => {
  const args = ['server', '--url', `${url}/mcp`, '--scenario', scenario]
  const cwd = temporaryDirectory()
  const { stdout } = await promisify(execFile)(process.execPath, [suite, ...args, '--verbose'], {
    cwd,
  })
  expect(stdout).toMatch(/Passed: [1-9]\d*\/\d+, 0 failed/)
})

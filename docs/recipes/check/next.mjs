// Builds the application of the recipe, serves it, asks its route, and checks what has come of it.

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { openDefaultStore } from 'gitlocket'
import { answers, checkRequests, checkStore, script } from './conversation.mjs'
import { end, gitlocket, makePlace, printed, run, start } from './place.mjs'
import { startModel } from './scripted-model.mjs'

const model = await startModel(script)
const place = makePlace('next', { OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'sk-local' })
const next = join(place.cwd, '../node_modules/next/dist/bin/next')

await run(place, [next, 'build'])
assert.ok(!existsSync(join(place.home, '.local')), 'A build opens no store')

await gitlocket(place, ['init', '--no-passphrase'])
await gitlocket(place, ['settings', '--content-limit', '1000000'])
const server = start(place, [next, 'start', '--hostname', '127.0.0.1', '--port', '0'])
const [, url] = await printed(server, /(http:\S+)[^]*Ready/)
for (const answer of answers) {
  const response = await fetch(`${url}/chat`, { method: 'POST', body: 'What do you know?' })
  assert.deepEqual([response.status, await response.text()], [200, answer])
}
checkRequests(model)
model.close()
await end(server)

const store = await openDefaultStore(place.env)
await checkStore(store)
await store.close()

// Runs the program of a recipe twice, as its reader would, and checks what has come of it:
// agent.mjs <folder>

import assert from 'node:assert/strict'
import { openDefaultStore } from 'gitlocket'
import { answers, checkRequests, checkStore, script } from './conversation.mjs'
import { gitlocket, makePlace, run } from './place.mjs'
import { startModel } from './scripted-model.mjs'

const model = await startModel(script)
const place = makePlace(process.argv[2], { OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'sk-local' })
await gitlocket(place, ['init', '--no-passphrase'])
await gitlocket(place, ['settings', '--content-limit', '1000000'])

for (const answer of answers) {
  const output = await run(place, ['agent.mjs', 'What do you know?'])
  assert.deepEqual(output, { stdout: `${answer}\n`, stderr: '' })
}
checkRequests(model)
model.close()

const store = await openDefaultStore(place.env)
await checkStore(store)
await store.close()

// Runs the Worker of the recipe under workerd, with a grant for a store at a git host, and checks
// what the model was told, and what a clone of the store holds then.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openDefaultStore } from 'gitlocket'
import { Miniflare } from 'miniflare'
import { answers, checkRequests, checkStore, script } from './conversation.mjs'
import { startGitHost } from './git-host.mjs'
import { gitlocket, makePlace } from './place.mjs'
import { startModel } from './scripted-model.mjs'

const place = makePlace('worker')
const repository = join(place.home, 'host.git')
const host = await startGitHost(repository, 'token')
const model = await startModel(script)
await gitlocket(place, ['init', '--no-passphrase'])
await gitlocket(place, ['settings', '--content-limit', '1000000'])
// This machine is the host's: commands send no password without TLS.
await gitlocket(place, ['remote', 'add', 'origin', repository])
const given = await gitlocket(place, ['grant', 'give', '--label', 'worker'])
const [grant] = /GLKG1-\S+/.exec(given.stdout)

// The package as a bundler finds it for Workers: the program and its WebAssembly, as modules.
const entry = fileURLToPath(import.meta.resolve('gitlocket/web'))
const directory = join(entry, '..')
const modules = readdirSync(directory)
  .filter((name) => /\.(?:js|wasm)$/.test(name))
  .map((name) => ({
    type: name.endsWith('.wasm') ? 'CompiledWasm' : 'ESModule',
    path: `gitlocket/${name}`,
    contents: readFileSync(join(directory, name)),
  }))
const contents = readFileSync(join(place.cwd, 'worker.mjs'), 'utf8').replace(
  "from 'gitlocket/web'",
  "from './gitlocket/workerd.js'",
)
const worker = new Miniflare({
  modules: [{ type: 'ESModule', path: 'worker.mjs', contents }, ...modules],
  compatibilityDate: '2026-04-01',
  bindings: {
    MEMORY_URL: host.url,
    MEMORY_GRANT: grant,
    MEMORY_TOKEN: 'token',
    MODEL_URL: model.url,
    MODEL_KEY: 'sk-local',
    CALLER_KEY: 'caller',
  },
})
const ask = (headers) => {
  const body = 'What do you know?'
  return worker.dispatchFetch('http://worker/', { method: 'POST', body, headers })
}
assert.equal((await ask({})).status, 401)
for (const answer of answers) {
  const response = await ask({ authorization: 'Bearer caller' })
  assert.deepEqual([response.status, await response.text()], [200, answer])
}
checkRequests(model)
await worker.dispose()
model.close()

await gitlocket(place, ['sync'])
const store = await openDefaultStore(place.env)
await checkStore(store, 'worker')
await store.close()
host.close()

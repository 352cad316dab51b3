// A server process on a store of an engine that is killed or stopped at one statement: `node
// engine-writer.mjs <address> <identity file> <store id> <directory> <name> <SIGKILL|SIGSTOP>
// <before|after> <statement>`. Prints each change once it is acknowledged, and `done` at the end.

import { readFileSync, writeSync } from 'node:fs'
import { Client } from 'pg'
import { EngineBackend } from '../../dist/engine/engine-backend.js'
import { parseIdentity } from '../../dist/index.js'

const [url, identityFile, storeId, directory, name, ...end] = process.argv.slice(2)
const [signal, moment, statement] = end

let count = 0
const die = () => process.kill(process.pid, signal)
// oxlint-disable-next-line typescript/unbound-method -- called with its client
const { query } = Client.prototype
Client.prototype.query = function counted(...given) {
  // Those of the pool itself have a callback.
  if (typeof given.at(-1) === 'function') return query.apply(this, given)
  count += 1
  const isLast = count === Number(statement)
  if (isLast && moment === 'before') die()
  const result = query.apply(this, given)
  if (isLast && moment === 'after') result.then(die, die)
  return result
}

const identity = await parseIdentity(readFileSync(identityFile, 'utf8'))
const backend = await EngineBackend.open({ url, identity, replicaDirectory: directory })
const store = await backend.openStore(storeId)
const me = store.as({ actor: { type: 'session', id: 'writer' }, session: 'writer' })
const acknowledged = (text) => writeSync(1, `${text}\n`)

await me.append('/log.md', `${name}.1\n`)
acknowledged(`${name}.1`)
// More than an entry holds.
const large = Array.from({ length: 12 }, (_, at) => {
  return { type: 'write', path: `/large/${at}.md`, content: `${name} ${'x'.repeat(90_000)}` }
})
await me.apply(large)
await me.write(`/secret-${name}.md`, `secret of ${name}`)
const select = { path: `/secret-${name}.md` }
await me.redact({ select, reason: 'legal', current: 'delete' })
acknowledged(`redacted ${name}`)
await me.append('/log.md', `${name}.2\n`)
acknowledged(`${name}.2`)
await store.maintenance.compact()
await store.close()
await backend.close()
acknowledged('done')

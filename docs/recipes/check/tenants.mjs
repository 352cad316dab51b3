// Serves two tenants with the server of the recipe, lets their users write and try to reach each
// other's memories, and checks what the stores hold.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { openDefaultStore } from 'gitlocket'
import { end, gitlocket, makePlace, printed, start } from './place.mjs'

const place = makePlace('tenants')
const stores = join(place.home, 'stores')
const usersFile = join(place.home, 'users.json')
const variables = { PORT: '0', STORES: stores, USERS: usersFile, IDLE_MS: '200' }
const storeOf = (tenant) => ({ GITLOCKET_STORE: join(stores, tenant) })

await gitlocket(place, ['init', '--no-passphrase'], storeOf('acme'))
await gitlocket(place, ['init', '--no-passphrase'], storeOf('globex'))
const people = { ada: 'acme', bob: 'acme', eve: 'globex' }
const users = Object.entries(people).map(([name, tenant]) => [
  createHash('sha256').update(`token of ${name}`).digest('hex'),
  { tenant, name },
])
writeFileSync(usersFile, JSON.stringify(Object.fromEntries(users)))

const server = start({ ...place, env: { ...place.env, ...variables } }, ['server.mjs'])
const [, port] = await printed(server, /port: (\d+)/)

async function ask(name, session, command, headers = {}) {
  const response = await fetch(`http://127.0.0.1:${port}/memory`, {
    method: 'POST',
    headers: { authorization: `Bearer token of ${name}`, ...headers },
    body: JSON.stringify({ session, command }),
  })
  return [response.status, await response.text()]
}
const create = (path, text) => ({ command: 'create', path, file_text: text })
const insert = (line, text) => ({
  command: 'insert',
  path: '/memories/plan.md',
  insert_line: line,
  insert_text: text,
})
const view = (path) => ({ command: 'view', path })
/** A process that has a store open says so in a file of that store. */
const isOpen = (tenant) => {
  return readdirSync(join(stores, tenant, 'gitlocket')).some((name) => name.startsWith('owner.'))
}
async function closed(tenant) {
  while (isOpen(tenant)) await pause(20)
}

// Nothing is open before somebody asks, and nobody opens the store of another tenant.
assert.deepEqual([isOpen('acme'), isOpen('globex')], [false, false])
const plan = '/memories/plan.md'
assert.equal((await ask('ada', 'monday', create(plan, 'by ada\n')))[0], 200)
assert.equal(isOpen('globex'), false)

// Users of one tenant share its memories; the same path of another tenant is another memory.
assert.equal((await ask('bob', 'tuesday', insert(1, 'by bob\n')))[0], 200)
assert.match((await ask('ada', 'monday', view(plan)))[1], /1\tby ada\n +2\tby bob/)
assert.equal((await ask('eve', 'monday', view(plan)))[0], 422)
assert.equal((await ask('eve', 'monday', create(plan, 'by eve\n')))[0], 200)

// What is malformed reaches nothing.
for (const path of ['/memories/../acme/plan.md', '/memories/../../acme', '/acme/plan.md']) {
  assert.equal((await ask('eve', 'monday', view(path)))[0], 422)
}
assert.equal((await ask('mallory', 'monday', view('/memories')))[0], 401)
assert.equal((await ask('eve', 'monday', view('/'), { authorization: '__proto__' }))[0], 401)
assert.equal((await ask('eve', { forged: true }, create('/memories/a', '')))[0], 422)
assert.equal((await ask('eve', 'monday', undefined))[0], 422)

// A store that nobody needs is closed, and opened again for whoever does.
await Promise.all([closed('acme'), closed('globex')])
const [first, ...others] = await Promise.all([
  ask('ada', 'friday', insert(0, 'at once\n')),
  ask('bob', 'friday', insert(0, 'at once\n')),
])
assert.deepEqual([first[0], others[0][0]], [200, 200])
await end(server)
assert.equal(server.exitCode, 0)
assert.deepEqual([isOpen('acme'), isOpen('globex')], [false, false])

async function read(tenant) {
  const store = await openDefaultStore({ ...place.env, ...storeOf(tenant) })
  const memories = {}
  for await (const { path, content } of store.memories({ view: 'full' })) memories[path] = content
  const versions = []
  for await (const { createdBy, session, operation } of store.history.versions()) {
    versions.push(`${createdBy.type} ${createdBy.id}, ${session}: ${operation}`)
  }
  await store.close()
  return { memories, versions: versions.toReversed() }
}

const acme = await read('acme')
assert.deepEqual(acme.memories, { '/plan.md': 'at once\nat once\nby ada\nby bob\n' })
assert.deepEqual(acme.versions.slice(0, 2), [
  'user ada, monday: created',
  'user bob, tuesday: modified',
])
assert.deepEqual(acme.versions.slice(2).toSorted(), [
  'user ada, friday: modified',
  'user bob, friday: modified',
])
assert.deepEqual(await read('globex'), {
  memories: { '/plan.md': 'by eve\n' },
  versions: ['user eve, monday: created'],
})

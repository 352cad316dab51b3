// One server for the memories of many tenants. POST /memory takes a session and a command as a
// model wrote it, runs it in the store of the caller's tenant and in the caller's name, and answers
// with the text for the model. Run it with: node server.mjs

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { openDefaultStore } from 'gitlocket'
import { memoryTool } from 'gitlocket/anthropic'
import { OpenStores } from './open-stores.mjs'

const { PORT = '8080', STORES = 'stores', USERS = 'users.json', IDLE_MS = '300000' } = process.env
/** @type {Record<string, { tenant: string, name: string }>} Whom a token means, by its SHA-256. */
const users = JSON.parse(readFileSync(USERS, 'utf8'))
const stores = new OpenStores(
  (tenant) => openDefaultStore({ ...process.env, GITLOCKET_STORE: `${STORES}/${tenant}` }),
  Number(IDLE_MS),
)

const server = createServer(async (request, response) => {
  const [status, words] = await answer(request).catch(failure)
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(words)
})
server.listen(Number(PORT), '127.0.0.1', () => console.log('Listening', server.address()))
process.once('SIGTERM', () => server.close(() => stores.close()))

/**
 * @param {import('node:http').IncomingMessage} request
 * @returns {Promise<[status: number, words: string]>}
 */
async function answer(request) {
  const user = findUser(request.headers.authorization)
  if (user === undefined) return [401, 'Error: No user has this token']
  if (request.method !== 'POST' || request.url !== '/memory') return [404, 'Error: POST /memory']
  if (!(Number(request.headers['content-length']) < 1_000_000)) return [413, 'Error: Too long']
  const body = await text(request)
  // The tenant comes from the token alone. Nothing of a request can name another one's store.
  return stores.use(user.tenant, async (store) => {
    try {
      const { session, command } = JSON.parse(body)
      /** @type {import('gitlocket').Actor} */
      const actor = { type: 'user', id: user.name }
      return [200, await memoryTool(store, { actor, session, ToolError: Error }).run(command)]
    } catch (error) {
      return [422, error instanceof Error ? error.message : String(error)]
    }
  })
}

/**
 * For the operator alone: the client learns no more than that.
 * @param {unknown} error
 * @returns {[status: number, words: string]}
 */
function failure(error) {
  console.error(error)
  return [500, 'Error: The server failed']
}

/** @param {string | undefined} authorization */
function findUser(authorization = '') {
  const token = authorization.replace(/^Bearer /, '')
  return users[createHash('sha256').update(token).digest('hex')]
}

// `npm run load -- --ratio`: guarded updates over HTTP and by the library, in turns in one run: the
// time of one after another, and the throughput of many clients.

import { createStore, generateIdentity } from 'gitlocket'
import { scratchDirectory } from '../bench/machine.ts'
import { type Client, textOf } from './client.ts'
import { hashOf } from './model.ts'

const rounds = 3
const updatesAlone = 500
const updatesTogether = 40

/** Updates a new memory so many times, each on condition of the one before. */
type Lane = (name: string, updates: number) => Promise<void>

export async function measureRatio(client: Client, clients: number): Promise<readonly string[]> {
  const [byLibrary, close] = await libraryLane()
  const overHttp = await httpLane(client)
  const lines: string[] = []
  for (let round = 0; round < rounds; round += 1) {
    const alone = async (lane: Lane): Promise<number> =>
      (await timeOf(() => lane(`alone ${round}`, updatesAlone))) / updatesAlone
    const [library, http] = [await alone(byLibrary), await alone(overHttp)]
    lines.push(
      `one after another: ${library.toFixed(2)} ms by the library, ${http.toFixed(2)} ms ` +
        `over HTTP: ${(http / library).toFixed(2)} ×`,
    )
    const together = async (lane: Lane): Promise<number> => {
      const numbers = Array.from({ length: clients }, (_, number) => number)
      const all = (): Promise<unknown> =>
        Promise.all(numbers.map((number) => lane(`${round} ${number}`, updatesTogether)))
      return (1000 * clients * updatesTogether) / (await timeOf(all))
    }
    const [most, served] = [await together(byLibrary), await together(overHttp)]
    lines.push(
      `${clients} clients: ${most.toFixed(0)} a second by the library, ${served.toFixed(0)} ` +
        `over HTTP: ${((100 * served) / most).toFixed(0)} %`,
    )
  }
  await close()
  return lines
}

async function libraryLane(): Promise<readonly [Lane, () => Promise<void>]> {
  const scratch = scratchDirectory()
  const at = { directory: `${scratch}/store`, stateDirectory: `${scratch}/state` }
  const { store } = await createStore({ ...at, identity: await generateIdentity() })
  const me = store.as({ actor: { type: 'api', id: 'apikey_ratio' } })
  const lane: Lane = async (name, updates) => {
    const created = await me.write(`/${name}`, textAt(name, 0))
    const memoryId = created.memories[0]?.memoryId ?? ''
    for (let n = 1; n <= updates; n += 1) {
      const expectedSha256 = hashOf(textAt(name, n - 1))
      const content = textAt(name, n)
      await me.apply([{ type: 'update', memoryId, content, expectedSha256 }])
    }
  }
  return [lane, () => store.close()]
}

async function httpLane(client: Client): Promise<Lane> {
  const storeId = textOf(await client.ask('POST', '', { name: 'ratio' }), 'id')
  return async (name, updates) => {
    const body = { path: `/${name}`, content: textAt(name, 0) }
    const created = await client.ask('POST', `/${storeId}/memories`, body)
    const path = `/${storeId}/memories/${textOf(created, 'id')}`
    for (let n = 1; n <= updates; n += 1) {
      const sha256 = hashOf(textAt(name, n - 1))
      const precondition = { type: 'content_sha256', content_sha256: sha256 }
      textOf(await client.ask('POST', path, { content: textAt(name, n), precondition }), 'id')
    }
  }
}

function textAt(name: string, number: number): string {
  return `${name}, update ${number}\n`.repeat(40)
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

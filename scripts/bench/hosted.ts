// A server of many stores for the bench: a process of its own, with a data directory and an API key
// of its own, and what it is filled with.

import { once } from 'node:events'
import { openSync, readdirSync, readlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { Client, textOf } from '../load/client.ts'
import { inParallel } from '../load/load.ts'
import { ServerProcess } from '../load/server-process.ts'
import { cleanEnvironment, commandLine, run } from './machine.ts'
import type { RunContext } from './run-context.ts'
import { noteText, seededChoice } from './workload.ts'

/** Requests that fill a store, at once. */
const atOnce = 64

export interface Hosted {
  readonly client: Client
  readonly server: ServerProcess
}

/** Not started. */
export async function newHosted(
  context: RunContext,
  name: string,
  options: readonly string[] = [],
): Promise<Hosted> {
  const root = context.directory(name)
  const places = ['--data', join(root, 'data'), '--state', join(root, 'server-state')]
  const create = [commandLine, 'api-key', 'create', '--json', ...places]
  const { token }: { readonly token: string } = JSON.parse(
    run(process.execPath, create, { cwd: root }).toString(),
  )
  const port = await freePort()
  const command = [process.execPath, commandLine, 'serve', '--port', String(port)]
  const url = `http://127.0.0.1:${port}`
  const server = new ServerProcess([...command, ...places, ...options], url, {
    env: cleanEnvironment(root),
    log: openSync(join(root, 'log'), 'a'),
  })
  process.on('exit', () => void server.kill())
  return { client: new Client(url, token), server }
}

/** One life of the server, ended as an operator does. */
export async function serving<T>({ server }: Hosted, work: () => Promise<T>): Promise<T> {
  await server.start()
  try {
    return await work()
  } finally {
    await server.stop()
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const closed = once(server, 'close')
  server.close()
  await closed
  if (typeof address === 'object' && address !== null) return address.port
  throw new Error('There is no free port')
}

export interface HostedStore {
  readonly storeId: string
  readonly memories: readonly HostedMemory[]
}

export interface HostedMemory {
  /** `/memstore_…/memories/mem_…` */
  readonly path: string
  readonly firstVersionId: string
}

/** Memories of 1 kB. */
export async function fillStore(
  client: Client,
  name: string,
  memories: number,
): Promise<HostedStore> {
  const storeId = textOf(await client.ask('POST', '', { name }), 'id')
  const choose = seededChoice(name)
  const made: HostedMemory[] = []
  const numbers = Array.from({ length: memories }, (_, number) => number)
  await inParallel(atOnce, numbers, async (number) => {
    const body = { path: `/notes/${number}.md`, content: noteText(choose) }
    const answer = await client.ask('POST', `/${storeId}/memories`, body)
    const path = `/${storeId}/memories/${textOf(answer, 'id')}`
    made.push({ path, firstVersionId: textOf(answer, 'memory_version_id') })
  })
  return { storeId, memories: made }
}

export async function fillStores(
  client: Client,
  count: number,
  memories: number,
): Promise<readonly HostedStore[]> {
  const made: HostedStore[] = []
  const numbers = Array.from({ length: count }, (_, number) => number)
  await inParallel(4, numbers, async (number) => {
    made.push(await fillStore(client, `${memories} memories ${number}`, memories))
  })
  return made
}

/** Throws if the server does not answer. */
export async function readMemory(client: Client, { path }: HostedMemory): Promise<void> {
  textOf(await client.ask('GET', path), 'content')
}

/** How many stores the server holds files of open, on Linux; elsewhere NaN. */
export function openStores({ server }: Hosted): number {
  if (process.platform !== 'linux') return Number.NaN
  const directory = `/proc/${server.pid}/fd`
  const found = readdirSync(directory).map((name) => storeOf(join(directory, name)))
  return new Set(found.filter((id) => id !== undefined)).size
}

function storeOf(handle: string): string | undefined {
  try {
    return /\/stores\/(memstore_\w+)\//.exec(readlinkSync(handle))?.[1]
  } catch {
    return undefined
  }
}

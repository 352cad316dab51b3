// A server that serves its stores by git, for tests: one store with some memories, and keys that
// fetch it. The store is reached next to the server, as the command line does.

import { execFileSync } from 'node:child_process'
import { onTestFinished } from 'vitest'
import { systemRandom } from '../../src/crypto/random.ts'
import { EngineBackend } from '../../src/engine/engine-backend.ts'
import { initEngine } from '../../src/engine/engine.ts'
import {
  type HostAdministration,
  openAdministrationOf,
  openHostAdministration,
} from '../../src/hosting/administration.ts'
import type { MemoryStore } from '../../src/index.ts'
import type { WebGitOptions } from '../../src/server/options.ts'
import { openServer } from '../../src/server/serve-host.ts'
import { createServer } from '../../src/server/server.ts'
import { packet } from './git-server.ts'
import { create } from './grant-holders.ts'
import { type HostPlace, newHostPlace } from './hosts.ts'
import { author } from './stores.ts'
import { temporaryDirectory } from './temporary.ts'

export const webOrigin = 'https://app.example'

export interface WebGit {
  /** The address of the server. */
  readonly server: string
  /** The address of the store for git. */
  readonly url: string
  readonly storeId: string
  readonly token: string
  readonly keyId: string
  readonly administration: HostAdministration
  /** Opens the store next to the server. */
  readonly use: <T>(work: (store: MemoryStore) => Promise<T>) => Promise<T>
  /** The address of a store and a key for it, as another owner has them. */
  another(): Promise<{ readonly url: string; readonly token: string; readonly storeId: string }>
}

export async function startWebGit(
  options: WebGitOptions = {},
): Promise<WebGit & { readonly directory: string }> {
  const place = newHostPlace()
  const webGit = { ...webGitOptions, ...options }
  const server = await createServer({ ...place, webGit })
  const { url } = await server.listen()
  const administration = await openHostAdministration(place)
  onTestFinished(async () => {
    await administration.close()
    await server.close()
  })
  const at = (await newStore(administration, place))(url)
  return { ...at, directory: `${place.dataDirectory}/stores/${at.storeId}` }
}

const webGitOptions = { origins: [webOrigin], environment: process.env }

/** One store of two servers that share a database, as each of them serves it. */
export async function startSharedWebGit(
  engineUrl: string,
): Promise<readonly [one: WebGit, two: WebGit]> {
  const root = temporaryDirectory()
  const place = newHostPlace(root)
  const { identity, operatorSecret } = place
  await initEngine({ url: engineUrl })
  const open = (name: string): Promise<EngineBackend> => {
    const replicaDirectory = `${root}/${name}`
    return EngineBackend.open({ url: engineUrl, identity, replicaDirectory, connections: 4 })
  }
  const serve = async (name: string) => {
    const backend = await open(name)
    return (await openServer({ backend, operatorSecret, webGit: webGitOptions })).server
  }
  const servers = [await serve('one'), await serve('two')] as const
  const administration = await openAdministrationOf(await open('administration'))
  onTestFinished(async () => {
    await administration.close()
    for (const server of servers) await server.close()
  })
  const at = await newStore(administration, place)
  return [at((await servers[0].listen()).url), at((await servers[1].listen()).url)]
}

/** A new store, as the server at an address has it. */
async function newStore(
  administration: HostAdministration,
  { operatorSecret }: Pick<HostPlace, 'operatorSecret'>,
): Promise<(server: string) => WebGit> {
  const make = async () => {
    const made = { name: 'notes', actor: author.actor, operatorSecret, refuseSecrets: false }
    const { storeId } = await administration.createStore(made)
    const { token, key } = await administration.createFetchKey('page', storeId)
    return { token, storeId, keyId: key.keyId }
  }
  const store = await make()
  return (server) => {
    const urlOf = (storeId: string): string => `${server}/git/${storeId}.git`
    return {
      ...store,
      server,
      url: urlOf(store.storeId),
      administration,
      use: (work) => administration.use(store.storeId, work),
      another: async () => {
        const other = await make()
        return { ...other, url: urlOf(other.storeId) }
      },
    }
  }
}

/** With the key as a bearer token, unless told otherwise. */
export function ask(
  { url, token }: Pick<WebGit, 'url' | 'token'>,
  path: string,
  { headers, ...init }: RequestInit & { headers?: Record<string, string> } = {},
): Promise<Response> {
  return fetch(`${url}${path}`, {
    ...init,
    headers: { authorization: `Bearer ${token}`, ...headers },
  })
}

export const listPath = '/info/refs?service=git-upload-pack'

/** Sends a body to the service that sends packs. */
export function postFetch(
  at: Pick<WebGit, 'url' | 'token'>,
  body: Uint8Array<ArrayBuffer> | string,
  headers: Record<string, string> = {},
  signal: AbortSignal | null = null,
): Promise<Response> {
  const type = { 'content-type': 'application/x-git-upload-pack-request' }
  const init = { method: 'POST', body, headers: { ...type, ...headers }, signal }
  return ask(at, '/git-upload-pack', init)
}

/** The refs that a list names, with their objects. */
export function refsIn(list: string): Record<string, string> {
  const found = [...list.matchAll(/([0-9a-f]{40}) (\S+?)(?:\0|\n)/g)]
  return Object.fromEntries(found.map(([, oid = '', name = '']) => [name, oid]))
}

/** The request of a client that wants these objects, and has nothing. */
export const wanting = (...oids: readonly string[]): Uint8Array<ArrayBuffer> =>
  Buffer.concat([
    ...oids.map((oid, index) => packet(`want ${oid}${index === 0 ? ' ofs-delta' : ''}\n`)),
    Buffer.from('0000'),
    packet('done\n'),
  ])

export async function listOf(at: Pick<WebGit, 'url' | 'token'>): Promise<Record<string, string>> {
  return refsIn(await (await ask(at, listPath)).text())
}

/** Writes more than the buffers between a server and its client hold. */
export async function fill({ use }: Pick<WebGit, 'use'>): Promise<void> {
  const large = Buffer.from(systemRandom(60_000)).toString('hex')
  const changes = Array.from({ length: 150 }, (_, n) => create(`/${n}.md`, large.slice(n, 100_000)))
  await use((store) => store.as(author).apply(changes))
}

/** A fetch that stands still in the middle of the pack, since its client reads no further. */
export async function holdFetch(at: Pick<WebGit, 'url' | 'token'>) {
  const { HEAD = '' } = await listOf(at)
  const { body } = await postFetch(at, wanting(HEAD))
  const reader = body?.getReader()
  await reader?.read()
  return {
    /** Reads on; rejects if the fetch was cut short. */
    async readOn(): Promise<void> {
      while ((await reader?.read())?.done === false);
    },
  }
}

/** The processes of git that send packs for this one. */
export function sendingProcesses(): readonly string[] {
  const list = execFileSync('ps', ['-o', 'args=', '--ppid', String(process.pid)]).toString()
  return list.split('\n').filter((line) => line.includes('upload-pack'))
}

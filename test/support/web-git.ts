// A server that serves its stores by git, for tests: one store with some memories, and keys that
// fetch it. The store is reached next to the server, as the command line does.

import { onTestFinished } from 'vitest'
import {
  type HostAdministration,
  openHostAdministration,
} from '../../src/hosting/administration.ts'
import type { MemoryStore } from '../../src/index.ts'
import type { WebGitOptions } from '../../src/server/options.ts'
import { createServer } from '../../src/server/server.ts'
import { newHostPlace } from './hosts.ts'
import { author } from './stores.ts'

export const webOrigin = 'https://app.example'

export interface WebGit {
  /** The address of the server. */
  readonly server: string
  /** The address of the store for git. */
  readonly url: string
  readonly storeId: string
  readonly token: string
  readonly keyId: string
  readonly directory: string
  readonly administration: HostAdministration
  /** Opens the store next to the server. */
  use<T>(work: (store: MemoryStore) => Promise<T>): Promise<T>
  /** The address of a store and a key for it, as another owner has them. */
  another(): Promise<{ readonly url: string; readonly token: string; readonly storeId: string }>
}

export async function startWebGit(options: WebGitOptions = {}): Promise<WebGit> {
  const place = newHostPlace()
  const webGit = { origins: [webOrigin], environment: process.env, ...options }
  const server = await createServer({ ...place, webGit })
  const { url } = await server.listen()
  const administration = await openHostAdministration(place)
  onTestFinished(async () => {
    await administration.close()
    await server.close()
  })
  const { operatorSecret } = place
  const another = async () => {
    const made = { name: 'notes', actor: author.actor, operatorSecret, refuseSecrets: false }
    const { storeId } = await administration.createStore(made)
    const { token, key } = await administration.createFetchKey('page', storeId)
    return { url: `${url}/git/${storeId}.git`, token, storeId, keyId: key.keyId }
  }
  const store = await another()
  return {
    ...store,
    server: url,
    directory: `${place.dataDirectory}/stores/${store.storeId}`,
    administration,
    use: (work) => administration.use(store.storeId, work),
    another,
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

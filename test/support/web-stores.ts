// Stores in RAM over a remote that stock `git http-backend` serves.

import { expect } from 'vitest'
import { openRemote, type RemoteStore, type RemoteStoreOptions } from '../../src/web/web.ts'
import { sync } from './clones.ts'
import { failureUnder } from './faulty-remotes.ts'
import { type Fault, type GitServer, startGitServer } from './git-server.ts'
import { type GrantWorld, givenGrant } from './grant-holders.ts'
import { author, contentsOf } from './stores.ts'

export interface WebWorld extends GrantWorld {
  readonly server: GitServer
}

/** A store with a grant, served over http. */
export async function servedGrant(role: 'writer' | 'reader' = 'writer'): Promise<WebWorld> {
  const world = await givenGrant(role)
  return { ...world, server: await startGitServer({ repository: world.url }) }
}

/** Opens it in RAM with the grant. */
export function openWeb(
  { server, grant }: Pick<WebWorld, 'server' | 'grant'>,
  options: Partial<Omit<RemoteStoreOptions, 'grant' | 'identity' | 'recoveryKey'>> = {},
): Promise<RemoteStore> {
  return openRemote({ url: server.url, grant, ...options })
}

export const webAuthor = { actor: { type: 'session', id: 'edge-1' } } as const

/** Has the granter change the store, so that the next sync fetches. */
export async function change({ granter }: WebWorld, path = '/theirs.md'): Promise<void> {
  await granter.store.as(author).write(path, 'theirs')
  await sync(granter)
}

/** By an open store and a new one; afterwards the open one reads from an honest host. */
export async function expectFaultRefused(
  fault: Fault,
  code: string,
  how: Parameters<typeof openWeb>[1] = {},
): Promise<void> {
  const world = await servedGrant()
  const store = await openWeb(world, how)
  const before = await contentsOf(store)
  await change(world)
  for (const work of [() => store.sync(), () => openWeb(world, how)]) {
    expect(await failureUnder(world.server, [code, fault], work)).toMatchObject({ code })
  }
  expect(await contentsOf(store)).toEqual(before)
  await store.sync()
  expect(await contentsOf(store)).toEqual({ ...before, '/theirs.md': 'theirs' })
  await store.close()
}

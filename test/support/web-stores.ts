// Stores in RAM over a remote that stock `git http-backend` serves.

import { openRemote, type RemoteStore, type RemoteStoreOptions } from '../../src/web/web.ts'
import { type GitServer, startGitServer } from './git-server.ts'
import { type GrantWorld, givenGrant } from './grant-holders.ts'

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

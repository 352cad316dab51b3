// Starts the real server for tests, and manages its keys as the command line does. The one place in
// the tests of the server that knows how it is put together.

import { openHostAdministration } from '../../src/hosting/administration.ts'
import { createServer, type ServerOptions } from '../../src/server/server.ts'
import { newHostPlace } from './hosts.ts'

export type ServerSettings = Omit<
  ServerOptions,
  'dataDirectory' | 'stateDirectory' | 'identity' | 'operatorSecret'
>

export interface HostedKey {
  /** `apikey_…` */
  readonly id: string
  readonly secret: string
  readonly workspaceId: string
}

export interface StartedServer {
  readonly url: string
  workspace(name: string): Promise<string>
  key(workspaceId: string): Promise<HostedKey>
  revoke(keyId: string): Promise<void>
  close(): Promise<void>
}

/** Serves the stores below `root`, if any exist. */
export async function startServer(
  root: string,
  settings: ServerSettings = {},
): Promise<StartedServer> {
  const place = newHostPlace(root)
  const server = await createServer({ ...place, ...settings })
  const { url } = await server.listen()
  const administration = await openHostAdministration(place)
  return {
    url,
    workspace: async (name) => (await administration.createWorkspace(name)).workspaceId,
    key: async (workspaceId) => {
      const { key, token } = await administration.createKey('test', workspaceId)
      return { id: key.keyId, secret: token, workspaceId }
    },
    revoke: async (keyId) => void (await administration.revokeKey(keyId)),
    close: async () => {
      await administration.close()
      await server.close()
    },
  }
}

// Servers that share a database, behind a balancer that hands each request to the next of them.

import { request, createServer } from 'node:http'
import { EngineBackend } from '../../src/engine/engine-backend.ts'
import { initEngine } from '../../src/engine/engine.ts'
import { openAdministrationOf } from '../../src/hosting/administration.ts'
import { openServer } from '../../src/server/serve-host.ts'
import { freePort } from './free-port.ts'
import { newHostPlace } from './hosts.ts'
import type { ServerSettings, StartedServer } from './server.ts'

export interface Fleet extends StartedServer {
  /** The addresses of the servers themselves. */
  readonly urls: readonly string[]
}

/** Starts `count` servers below `root`, on a database that may have stores. */
export async function startFleet(
  root: string,
  engineUrl: string,
  { count = 2, ...settings }: ServerSettings & { readonly count?: number } = {},
): Promise<Fleet> {
  const { identity, operatorSecret } = newHostPlace(root)
  await initEngine({ url: engineUrl })
  const open = (name: string): Promise<EngineBackend> => {
    const replicaDirectory = `${root}/${name}`
    return EngineBackend.open({ url: engineUrl, identity, replicaDirectory, connections: 8 })
  }
  const servers = await Promise.all(
    Array.from({ length: count }, async (_, at) => {
      const backend = await open(`server-${at}`)
      const { server } = await openServer({ backend, operatorSecret, ...settings })
      return { server, url: (await server.listen()).url }
    }),
  )
  const urls = servers.map(({ url }) => url)
  const balancer = await startBalancer(urls)
  const administration = await openAdministrationOf(await open('administration'))
  return {
    url: balancer.url,
    urls,
    workspace: async (name) => (await administration.createWorkspace(name)).workspaceId,
    key: async (workspaceId) => {
      const { key, token } = await administration.createKey('test', workspaceId)
      return { id: key.keyId, secret: token, workspaceId }
    },
    revoke: async (keyId) => void (await administration.revokeKey(keyId)),
    async close() {
      await administration.close()
      await balancer.close()
      await Promise.all(servers.map(({ server }) => server.close()))
    },
  }
}

async function startBalancer(urls: readonly string[]) {
  const port = await freePort()
  let count = 0
  const balancer = createServer((incoming, outgoing) => {
    const target = new URL(incoming.url ?? '/', urls[count % urls.length])
    count += 1
    const { method, headers } = incoming
    const passed = request(target, { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    })
    passed.on('error', () => outgoing.destroy())
    incoming.pipe(passed)
  })
  await new Promise<void>((resolve) => balancer.listen(port, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise<void>((resolve) => {
        balancer.close(() => resolve())
        balancer.closeAllConnections()
      }),
  }
}

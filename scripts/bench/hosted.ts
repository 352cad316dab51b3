// A server of many stores for the bench: a process of its own, with an API key of its own.

import { openSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from '../load/client.ts'
import { ServerProcess } from '../load/server-process.ts'
import { cleanEnvironment, commandLine, freePort, run } from './machine.ts'

export interface Hosted {
  readonly client: Client
  readonly server: ServerProcess
}

/** In an empty directory. */
export async function startHosted(root: string): Promise<Hosted> {
  const places = ['--data', join(root, 'data'), '--state', join(root, 'server-state')]
  const create = [commandLine, 'api-key', 'create', '--json', ...places]
  const { token }: { readonly token: string } = JSON.parse(
    run(process.execPath, create, { cwd: root }).toString(),
  )
  const port = await freePort()
  const command = [process.execPath, commandLine, 'serve', '--port', String(port), ...places]
  const url = `http://127.0.0.1:${port}`
  const server = new ServerProcess(command, url, {
    env: cleanEnvironment(root),
    log: openSync(join(root, 'log'), 'a'),
  })
  process.on('exit', () => void server.kill())
  await server.start()
  return { client: new Client(url, token), server }
}

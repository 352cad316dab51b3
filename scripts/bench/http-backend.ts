// A git host on this machine, as https hosts are: stock `git http-backend` behind a server of Node.
// It admits everyone.

import { spawn } from 'node:child_process'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { dirname } from 'node:path'
import { cleanEnvironment } from './machine.ts'

export interface GitHost {
  readonly url: string
  /** The requests so far. */
  readonly requests: () => number
  close(): void
}

/** Serves one bare repository. */
export async function startGitHost(
  repository: string,
  listenAt: string = '127.0.0.1',
): Promise<GitHost> {
  let requests = 0
  const server = createServer((request, response) => {
    requests += 1
    serveRepository(repository, request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, listenAt, resolve))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    url: `http://${listenAt}:${port}/store.git`,
    requests: () => requests,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** Answers a request for /store.git, which the tests use too. */
export function serveRepository(
  repository: string,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const { pathname, search } = new URL(request.url ?? '/', 'http://localhost')
  const env = {
    ...cleanEnvironment(dirname(repository)),
    GIT_PROJECT_ROOT: repository,
    GIT_HTTP_EXPORT_ALL: '1',
    PATH_INFO: pathname.replace(/^\/store\.git/, ''),
    QUERY_STRING: search.slice(1),
    REQUEST_METHOD: request.method,
    CONTENT_TYPE: request.headers['content-type'],
    CONTENT_LENGTH: request.headers['content-length'],
    HTTP_CONTENT_ENCODING: request.headers['content-encoding'],
    REMOTE_USER: 'bench',
  }
  const child = spawn('git', ['http-backend'], { env, stdio: ['pipe', 'pipe', 'ignore'] })
  child.stdin.on('error', () => undefined)
  request.pipe(child.stdin)
  // Even if the other side has closed the connection in the middle.
  response.on('close', () => child.kill())
  let head: Buffer | undefined = Buffer.alloc(0)
  child.stdout.on('data', (chunk: Buffer) => {
    const seen = head === undefined ? chunk : Buffer.concat([head, chunk])
    const end = head === undefined ? 0 : seen.indexOf('\r\n\r\n')
    if (end === -1) head = seen
    else if (head === undefined) response.write(chunk)
    else {
      writeHead(response, seen.toString('latin1', 0, end))
      response.write(seen.subarray(end + 4))
      head = undefined
    }
  })
  child.stdout.on('end', () => response.end())
}

/** From CGI, where the status is a header. */
function writeHead(response: ServerResponse, text: string): void {
  let status = 200
  for (const line of text.split('\r\n')) {
    const [name = '', value = ''] = line.split(/:\s*(.*)/s)
    if (name.toLowerCase() === 'status') status = Number.parseInt(value, 10)
    else response.setHeader(name, value)
  }
  response.writeHead(status)
}

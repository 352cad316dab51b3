// An HTTP proxy for tests, as sandboxes have one: it opens tunnels and forwards plain requests.
// Closed when the test ends.

import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { connect, type Server, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import type { Certificate } from './git-server.ts'

export interface Listening {
  /** host:port */
  readonly at: string
  /** Connections that are open. */
  readonly sockets: ReadonlySet<Socket>
}

export interface Proxy extends Listening {
  /** Method, target and credentials of each request. */
  readonly seen: readonly (readonly [string, string, string | undefined])[]
}

/** With `needs`, it answers only requests with these credentials. */
export async function startProxy(
  how: { readonly tls?: Certificate; readonly needs?: string } = {},
): Promise<Proxy> {
  const seen: (readonly [string, string, string | undefined])[] = []
  const note = ({ method = '', url = '', headers }: IncomingMessage): boolean => {
    const given = headers['proxy-authorization']
    seen.push([method, url, given])
    return how.needs === undefined || given === how.needs
  }
  const onRequest = (asked: IncomingMessage, response: ServerResponse): void => {
    if (note(asked)) forward(asked, response)
    else response.writeHead(407).end()
  }
  const server = how.tls ? createTlsServer(how.tls, onRequest) : createServer(onRequest)
  server.on('connect', (asked: IncomingMessage, socket: Socket) => {
    if (note(asked)) openTunnel(asked.url ?? '', socket)
    else socket.end('HTTP/1.1 407 Who are you?\r\n\r\n')
  })
  return { seen, ...(await listening(server)) }
}

function forward(asked: IncomingMessage, response: ServerResponse): void {
  const { method = 'GET', url = '' } = asked
  const { 'proxy-authorization': _, ...headers } = asked.headers
  const onward = request(url, { method, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 500, answer.headers)
    answer.pipe(response)
  })
  asked.pipe(onward)
}

function openTunnel(target: string, socket: Socket): void {
  const { hostname, port } = new URL(`http://${target}`)
  const onward = connect(Number(port), hostname, () => {
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
    socket.pipe(onward).pipe(socket)
  })
  socket.on('error', () => onward.destroy())
  onward.on('error', () => socket.destroy())
}

export async function listening(server: Server): Promise<Listening> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  return { at: `127.0.0.1:${port}`, sockets }
}

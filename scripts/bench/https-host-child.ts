// A git host: stock `git http-backend` behind a Node https server on the loopback interface. It
// counts the bytes on the wire. It is a separate process, since the bench cannot serve requests
// while it waits for the programs that it measures. Started by hosts.ts, ends with it.

import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { Socket } from 'node:net'

/** Given as JSON in the only argument. */
export interface HostRequest {
  /** Every bare repository below it can be fetched from and pushed to. */
  readonly directory: string
  readonly keyFile: string
  readonly certificateFile: string
}

/** The first message has the port; each incoming message is answered with the bytes so far. */
export type HostMessage = { readonly port: number } | { readonly bytes: number }

const endOfHead = '\r\n\r\n'
const { directory, keyFile, certificateFile }: HostRequest = JSON.parse(process.argv[2] ?? '{}')
const open = new Set<Socket>()
let closedBytes = 0

const credentials = { key: readFileSync(keyFile), cert: readFileSync(certificateFile) }
const server = createServer(credentials, serve)
server.on('connection', (socket: Socket) => {
  open.add(socket)
  socket.on('close', () => {
    open.delete(socket)
    closedBytes += bytesOf(socket)
  })
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (typeof address === 'object' && address !== null) say({ port: address.port })
})
process.on('message', () => {
  say({ bytes: [...open].reduce((sum, socket) => sum + bytesOf(socket), closedBytes) })
})
process.on('disconnect', () => process.exit())

/** Bytes of both directions, encryption included. */
function bytesOf({ bytesRead, bytesWritten }: Socket): number {
  return bytesRead + bytesWritten
}

function say(message: HostMessage): void {
  process.send?.(message)
}

function serve(request: IncomingMessage, response: ServerResponse): void {
  const child = spawn('git', ['http-backend'], {
    env: { ...process.env, ...gatewayVariables(request) },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  child.stdin.on('error', () => undefined)
  request.pipe(child.stdin)
  let head = Buffer.alloc(0)
  const readHead = (chunk: Buffer): void => {
    head = Buffer.concat([head, chunk])
    const end = head.indexOf(endOfHead)
    if (end === -1) return
    child.stdout.off('data', readHead)
    child.stdout.pause()
    writeHead(response, head.toString('latin1', 0, end))
    response.write(head.subarray(end + endOfHead.length))
    child.stdout.pipe(response)
  }
  child.stdout.on('data', readHead)
}

/** RFC 3875, and what git adds to it. A user that has a name may push. */
function gatewayVariables({ url = '', method, headers }: IncomingMessage): NodeJS.ProcessEnv {
  const { pathname, search } = new URL(url, 'http://localhost')
  return {
    GIT_PROJECT_ROOT: directory,
    GIT_HTTP_EXPORT_ALL: '1',
    PATH_INFO: pathname,
    QUERY_STRING: search.slice(1),
    REQUEST_METHOD: method,
    CONTENT_TYPE: headers['content-type'],
    CONTENT_LENGTH: headers['content-length'],
    HTTP_CONTENT_ENCODING: headers['content-encoding'],
    GIT_PROTOCOL: String(headers['git-protocol'] ?? ''),
    REMOTE_USER: 'bench',
  }
}

/** CGI has the status as a header. */
function writeHead(response: ServerResponse, head: string): void {
  let status = 200
  for (const line of head.split('\r\n')) {
    const [name = '', value = ''] = line.split(/:\s*(.*)/s)
    if (name.toLowerCase() === 'status') status = Number.parseInt(value, 10)
    else response.setHeader(name, value)
  }
  response.writeHead(status)
}

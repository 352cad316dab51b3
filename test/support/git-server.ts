// A git host for tests: stock `git http-backend` behind a Node server, with basic authentication
// and TLS, and with every fault that a host can have, one at a time. Closed when the test ends.

import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { serveRepository } from '../../scripts/bench/http-backend.ts'
import { temporaryDirectory } from './temporary.ts'

export interface Certificate {
  readonly key: string
  readonly cert: string
}

export interface GitServerOptions {
  /** The bare repository that /store.git is. */
  readonly repository: string
  readonly tls?: Certificate
  /** Without it, everybody may do everything. */
  readonly user?: { readonly username: string; readonly password: string }
  readonly fault?: Fault
}

/** Answers a request in place of the host; true if it did. */
export type Fault = (
  request: IncomingMessage,
  response: ServerResponse,
) => boolean | Promise<boolean>

export interface GitServer {
  /** The URL of the repository. */
  readonly url: string
  /** Method, path and authorization header of each received request. */
  readonly requests: readonly SeenRequest[]
  /** May be changed at any time. */
  fault: Fault | undefined
}

export interface SeenRequest {
  readonly method: string
  readonly path: string
  readonly authorization: string | undefined
}

export async function startGitServer(options: GitServerOptions): Promise<GitServer> {
  const requests: SeenRequest[] = []
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = '', url = '', headers } = request
    requests.push({ method, path: url, authorization: headers.authorization })
    response.on('error', () => undefined)
    if ((await started.fault?.(request, response)) === true) return
    if (isAllowed(options, request)) serveRepository(options.repository, request, response)
    else refuse(response)
  }
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    void handle(request, response)
  }
  const server = options.tls ? createTlsServer(options.tls, onRequest) : createServer(onRequest)
  const port = await listen(server)
  const scheme = options.tls === undefined ? 'http' : 'https'
  const url = `${scheme}://127.0.0.1:${port}/store.git`
  const started: GitServer = { url, requests, fault: options.fault }
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return started
}

/** Self-signed, for 127.0.0.1 and localhost. */
export function makeCertificate(): Certificate {
  const directory = temporaryDirectory()
  const [key, cert] = [join(directory, 'key.pem'), join(directory, 'cert.pem')]
  const request = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1']
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1,DNS:localhost']
  const output = ['-nodes', '-keyout', key, '-out', cert, '-days', '2']
  execFileSync('openssl', [...request, ...subject, ...output], { stdio: 'ignore' })
  return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') }
}

/** Like the other, but of the year 2020. */
export function makeExpiredCertificate(): Certificate {
  const directory = temporaryDirectory()
  const { key } = makeCertificate()
  const [keyFile, csr, out] = ['key.pem', 'csr.pem', 'cert.pem'].map((name) =>
    join(directory, name),
  )
  for (const [name, text] of [
    ['key.pem', key],
    ['index', ''],
    ['serial', '01'],
    ['ca', caConfiguration(directory)],
  ] as const) {
    writeFileSync(join(directory, name), text)
  }
  const run = (...args: string[]): void => void execFileSync('openssl', args, { stdio: 'ignore' })
  run('req', '-new', '-key', keyFile ?? '', '-subj', '/CN=localhost', '-out', csr ?? '')
  const dates = ['-startdate', '20200101000000Z', '-enddate', '20200102000000Z']
  const signed = ['-selfsign', '-keyfile', keyFile ?? '', '-in', csr ?? '', '-out', out ?? '']
  run('ca', '-batch', '-notext', '-config', join(directory, 'ca'), ...signed, ...dates)
  return { key, cert: readFileSync(out ?? '', 'utf8') }
}

function caConfiguration(directory: string): string {
  return [
    '[ca]',
    'default_ca=own',
    '[own]',
    `dir=${directory}`,
    'database=$dir/index',
    'serial=$dir/serial',
    'new_certs_dir=$dir',
    'default_md=sha256',
    'policy=any',
    'x509_extensions=names',
    '[any]',
    'commonName=supplied',
    '[names]',
    'subjectAltName=IP:127.0.0.1,DNS:localhost',
    '',
  ].join('\n')
}

/** A fault of every request whose method and path match. */
export function on(pattern: RegExp, fault: (response: ServerResponse) => void): Fault {
  return ({ method, url }, response) => {
    if (!pattern.test(`${method} ${url}`)) return false
    fault(response)
    return true
  }
}

export const advertisement: RegExp = /^GET .*info\/refs/
export const fetching: RegExp = /^POST .*git-upload-pack/
export const pushing: RegExp = /^POST .*git-receive-pack/

export function answer(status: number, text: string, headers: Record<string, string> = {}) {
  return (response: ServerResponse): void => {
    response.writeHead(status, headers)
    response.end(text)
  }
}

/** The result of a service, byte for byte. */
export function result(service: string, ...parts: readonly (Uint8Array | string)[]) {
  return (response: ServerResponse): void => {
    response.writeHead(200, { 'content-type': `application/x-${service}-result` })
    for (const part of parts) response.write(part)
    response.end()
  }
}

/** Sends the request on to another server, without a word about whose credentials it has. */
export function redirect({ url }: Pick<GitServer, 'url'>, status = 302) {
  return (response: ServerResponse): void => {
    const path = (response.req.url ?? '').slice('/store.git'.length)
    answer(status, '', { location: url + path })(response)
  }
}

/** A fault of every request that comes with credentials. */
export function onCredentials(
  fault: (response: ServerResponse, authorization: string) => void,
): Fault {
  return ({ headers: { authorization } }, response) => {
    if (authorization === undefined) return false
    fault(response, authorization)
    return true
  }
}

/** Sends nothing at all, or nothing after these bytes. */
export function stall(...parts: readonly (Uint8Array | string)[]) {
  return (response: ServerResponse): void => {
    if (parts.length > 0)
      response.writeHead(200, { 'content-type': 'application/x-git-upload-pack-result' })
    for (const part of parts) response.write(part)
  }
}

/** Sends these bytes, and then the others again and again, `everyMs` apart or without a pause. */
export function forever(
  kind: string,
  start: readonly (Uint8Array | string)[],
  again: Uint8Array | string,
  everyMs?: number,
) {
  return (response: ServerResponse): void => {
    response.writeHead(200, { 'content-type': `application/x-${kind}` })
    for (const part of start) response.write(part)
    const timer = setInterval(() => say(), everyMs ?? 1)
    const many = Buffer.concat(Array<Buffer>(1000).fill(Buffer.from(again)))
    const say = (): void => {
      if (!response.writableNeedDrain && !response.writableEnded)
        response.write(everyMs === undefined ? many : again)
    }
    const stop = (): void => clearInterval(timer)
    response.on('close', stop)
    response.on('finish', stop)
  }
}

/** What a fetch may get after these bytes without end. */
export function endless(
  everyMs?: number,
  ...before: readonly string[]
): readonly (readonly [what: string, fault: Fault])[] {
  const send = (start: readonly Uint8Array[], again: Uint8Array): Fault =>
    on(fetching, forever('git-upload-pack-result', [...before, ...start], again, everyMs))
  return [
    ['empty packets', send([nak], packet('\u0001'))],
    ['acknowledgements', send([], nak)],
    ['messages', send([nak], band(2, 'counting'))],
  ]
}

/** Breaks the connection after these bytes. */
export function cut(...parts: readonly (Uint8Array | string)[]) {
  return (response: ServerResponse): void => {
    response.writeHead(200, { 'content-type': 'application/x-git-upload-pack-result' })
    for (const part of parts) response.write(part)
    setTimeout(() => response.destroy(), 20)
  }
}

export function packet(content: Uint8Array | string): Buffer {
  const bytes = Buffer.from(content)
  return Buffer.concat([Buffer.from((bytes.length + 4).toString(16).padStart(4, '0')), bytes])
}

/** Packets, and their end. */
export function packets(...contents: readonly (Uint8Array | string)[]): Buffer {
  return Buffer.concat([...contents.map((content) => packet(content)), Buffer.from('0000')])
}

export const nak: Buffer = packet('NAK\n')

/** Bytes in packets of a side band. */
export function band(number: 1 | 2 | 3, content: Uint8Array | string): Buffer {
  const bytes = Buffer.from(content)
  const parts: Buffer[] = []
  for (let at = 0; at < bytes.length; at += 65_000) {
    parts.push(packet(Buffer.concat([Buffer.of(number), bytes.subarray(at, at + 65_000)])))
  }
  return Buffer.concat(parts)
}

/** What a fetch gets to hear around a pack. */
export function packAnswer(pack: Uint8Array): Buffer {
  return Buffer.concat([nak, band(1, pack), Buffer.from('0000')])
}

/** Answers a fetch with a pack after these bytes. */
export function sendPack(pack: Uint8Array, ...before: readonly (Uint8Array | string)[]) {
  return result('git-upload-pack', ...before, packAnswer(pack))
}

/** What a push gets to hear. */
export function reportAnswer(...lines: readonly string[]): Buffer {
  return Buffer.concat([band(1, packets(...lines)), Buffer.from('0000')])
}

/** Answers a push. */
export function report(...lines: readonly string[]) {
  return result('git-receive-pack', reportAnswer(...lines))
}

function isAllowed({ user }: GitServerOptions, { headers }: IncomingMessage): boolean {
  if (user === undefined) return true
  const expected = Buffer.from(`${user.username}:${user.password}`).toString('base64')
  return headers.authorization === `Basic ${expected}`
}

function refuse(response: ServerResponse): void {
  response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' })
  response.end('Who are you?')
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      if (typeof address === 'object' && address !== null) resolve(address.port)
      else reject(new Error('The server has no port'))
    })
  })
}

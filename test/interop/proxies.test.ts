// Remotes behind an HTTP proxy: a real one, chosen by the variables and settings that git and curl
// read, and proxies that stall, flood, refuse or answer in place of the host.

import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import {
  environment,
  failureOf,
  fetchFrom,
  head,
  makeBare,
  push,
  sharedRemotes,
} from '../support/faulty-remotes.ts'
import { makeCertificate, startGitServer } from '../support/git-server.ts'
import { type Listening, listening, startProxy } from '../support/proxy.ts'
import { temporaryDirectory } from '../support/temporary.ts'
import { requires } from '../support/tools.ts'
import { listRemote } from '../support/transfer.ts'

const openssl = requires('openssl')
const { repository } = sharedRemotes()
const credentials = 'agent:p%40ss%20word'
const basic = `Basic ${Buffer.from('agent:p@ss word').toString('base64')}`

/** Answers each connection with these bytes, and is silent after that. */
function startHostile(...answers: readonly string[]): Promise<Listening> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', () => {
      for (const text of answers) socket.write(text)
    })
  })
  return listening(server)
}

function configWith(text: string): NodeJS.ProcessEnv {
  const file = join(temporaryDirectory(), 'settings')
  writeFileSync(file, text)
  return { GIT_CONFIG_GLOBAL: file }
}

/** A host over https, and what reaches it. */
async function secureHost(bare = repository) {
  const tls = makeCertificate()
  const server = await startGitServer({ repository: bare, tls })
  const access = (variables: NodeJS.ProcessEnv) => ({
    url: server.url,
    environment: { ...environment, ...variables },
    certificateAuthorities: tls.cert,
  })
  return { server, access, target: new URL(server.url).host, tls }
}

/** Lists with git's own client, in the same environment. */
async function listByGit(access: {
  readonly url: string
  readonly environment: NodeJS.ProcessEnv
  readonly certificateAuthorities: string
}): Promise<void> {
  const file = join(temporaryDirectory(), 'ca.pem')
  writeFileSync(file, access.certificateAuthorities)
  const env = { ...access.environment, GIT_SSL_CAINFO: file }
  await promisify(execFile)('git', ['ls-remote', access.url], { env })
}

describe.skipIf(openssl.missing)(`a tunnel to an https host${openssl.note}`, () => {
  test('carries the list and the pack, over one connection for each conversation', async () => {
    const { access, target } = await secureHost(makeBare(join(temporaryDirectory(), 'new.git')))
    const proxy = await startProxy()
    const through = access({ HTTPS_PROXY: `http://${proxy.at}` })
    await push(through)
    await fetchFrom(through)
    expect(proxy.seen).toEqual([
      ['CONNECT', target, undefined],
      ['CONNECT', target, undefined],
    ])
    await expect.poll(() => proxy.sockets.size).toBe(0)
  })

  test('is opened with the credentials of the proxy, which the host does not get', async () => {
    const { server, access, target } = await secureHost()
    const proxy = await startProxy({ needs: basic })
    const through = access({ https_proxy: `http://${credentials}@${proxy.at}/` })
    expect(await listRemote(through)).toMatchObject({ head })
    expect(proxy.seen).toEqual([['CONNECT', target, basic]])
    expect(JSON.stringify(server.requests)).not.toMatch(/YWdlbnQ|ss word/)
  })

  test('is opened by a proxy that speaks TLS itself', async () => {
    const { access, target, tls } = await secureHost()
    const proxy = await startProxy({ tls })
    const through = access({ HTTPS_PROXY: `https://${proxy.at}` })
    expect(await listRemote(through)).toMatchObject({ head })
    expect(proxy.seen).toEqual([['CONNECT', target, undefined]])
  })

  const nowhere = 'http://127.0.0.1:1'
  const rows: readonly [string, (at: string, origin: string) => NodeJS.ProcessEnv, boolean][] = [
    ['HTTPS_PROXY without a scheme', (at) => ({ HTTPS_PROXY: at }), true],
    ['ALL_PROXY', (at) => ({ ALL_PROXY: `http://${at}` }), true],
    ['http.proxy', (at) => configWith(`[http]\n\tproxy = ${at}\n`), true],
    [
      'http.<url>.proxy rather than a variable',
      (at, origin) => ({
        ...configWith(`[http "${origin}"]\n\tproxy = ${at}\n`),
        HTTPS_PROXY: nowhere,
      }),
      true,
    ],
    [
      'a variable in lower case rather than in capitals',
      (at) => ({ HTTPS_PROXY: nowhere, https_proxy: at }),
      true,
    ],
    ['http_proxy, which is for http', (at) => ({ http_proxy: at, HTTP_PROXY: at }), false],
    ['an empty variable', (at) => ({ https_proxy: '', ALL_PROXY: at }), false],
    [
      'an empty http.proxy',
      (at) => ({ ...configWith('[http]\n\tproxy =\n'), HTTPS_PROXY: at }),
      false,
    ],
    ['NO_PROXY', (at) => ({ HTTPS_PROXY: at, NO_PROXY: 'localhost, 127.0.0.1' }), false],
    [
      'NO_PROXY next to http.proxy',
      (at) => ({ ...configWith(`[http]\n\tproxy = ${at}\n`), no_proxy: '*' }),
      false,
    ],
  ]
  test.each(rows)('is chosen by %s as by git', async (_, variablesFor, isUsed) => {
    const { access, target } = await secureHost()
    const proxy = await startProxy()
    const variables = variablesFor(proxy.at, `https://${target}`)
    expect(await listRemote(access(variables))).toMatchObject({ head })
    const asked = isUsed ? [['CONNECT', target, undefined]] : []
    expect(proxy.seen).toEqual(asked)
    await listByGit(access(variables))
    expect(proxy.seen).toEqual([...asked, ...asked])
  })

  test('does not weaken the check of the certificate', async () => {
    const { access } = await secureHost()
    const proxy = await startProxy()
    const { certificateAuthorities: _, ...stranger } = access({ HTTPS_PROXY: proxy.at })
    expect(await failureOf(listRemote(stranger))).toMatchObject({
      code: 'remote_untrusted',
      message: expect.stringMatching(
        /certificate is refused \(.*\); if the proxy that HTTPS_PROXY names answers in place/,
      ),
    })
    const file = join(temporaryDirectory(), 'ca.pem')
    writeFileSync(file, access({}).certificateAuthorities)
    for (const name of ['SSL_CERT_FILE', 'GIT_SSL_CAINFO', 'NODE_EXTRA_CA_CERTS']) {
      const own = { ...stranger.environment, [name]: file }
      expect(await listRemote({ ...stranger, environment: own })).toMatchObject({ head })
    }
  })
})

test('a request to an http host is given to the proxy, with the credentials of each', async () => {
  const user = { username: 'me', password: 'geheim' }
  const { url, requests } = await startGitServer({ repository, user })
  const proxy = await startProxy({ needs: basic })
  const access = {
    url,
    environment: { ...environment, http_proxy: `http://${credentials}@${proxy.at}` },
    credentials: async () => user,
  }
  await fetchFrom(access)
  expect(proxy.seen.map(([method, target]) => `${method} ${target}`)).toEqual([
    `GET ${url}/info/refs?service=git-upload-pack`,
    `GET ${url}/info/refs?service=git-upload-pack`,
    `POST ${url}/git-upload-pack`,
  ])
  expect(requests).toHaveLength(3)
  const stranger = { ...environment, http_proxy: proxy.at }
  expect(await failureOf(listRemote({ url, environment: stranger }))).toMatchObject({
    code: 'remote_unreachable',
    message: expect.stringMatching(/^The proxy that http_proxy names requires credentials \(407\)/),
  })
})

test('HTTP_PROXY names none: a header of a request can set it in a CGI program', async () => {
  const { url, requests } = await startGitServer({ repository })
  const proxy = await startProxy()
  const own = { ...environment, HTTP_PROXY: `http://${proxy.at}` }
  expect(await listRemote({ url, environment: own })).toMatchObject({ head })
  expect([proxy.seen.length, requests.length]).toEqual([0, 1])
})

test('git is asked for its proxy again once a request has failed', async () => {
  const { url, requests } = await startGitServer({ repository })
  const proxy = await startProxy()
  const own = { ...environment, ...configWith(`[http]\n\tproxy = ${proxy.at}\n`) }
  const settings = (text: string) => writeFileSync(own['GIT_CONFIG_GLOBAL'] ?? '', text)
  const access = { url, environment: own, proxies: new Map<string, string | undefined>() }
  expect(await listRemote(access)).toMatchObject({ head })
  settings('[http]\n\tproxy = http://127.0.0.1:1\n')
  expect(await listRemote(access)).toMatchObject({ head })
  expect(proxy.seen).toHaveLength(2)
  for (const [key] of access.proxies) access.proxies.set(key, 'http://127.0.0.1:1')
  expect(await failureOf(listRemote(access))).toMatchObject({ code: 'remote_unreachable' })
  settings('')
  expect(await listRemote(access)).toMatchObject({ head })
  expect([proxy.seen.length, requests.length]).toEqual([2, 3])
})

describe('a proxy that does not connect', () => {
  const url = 'https://remote.example/store.git'
  const throughProxy = (at: string) => ({
    url,
    environment: { ...environment, HTTPS_PROXY: `http://${credentials}@${at}` },
    timeoutMs: 1000,
  })

  test.each<[string, readonly string[], string, RegExp]>([
    ['refuses the host', ['HTTP/1.1 403 No\r\n\r\n'], 'remote_unreachable', /allow this host at/],
    [
      'rejects the credentials',
      ['HTTP/1.1 407 p@ss word\r\nContent-Length: 9\r\n\r\np@ss word'],
      'remote_unreachable',
      /requires credentials \(407\) other than those in its address$/,
    ],
    ['cannot reach the host', ['HTTP/1.1 502 No\r\n\r\n'], 'remote_unreachable', /cannot reach/],
    ['redirects', ['HTTP/1.1 302 x\r\nLocation: /\r\n\r\n'], 'remote_protocol', /\(302\)$/],
    ['says nothing', [], 'remote_timeout', /did not connect to the remote in time$/],
    ['stalls', ['HTTP/1.1 200 OK\r\nX-'], 'remote_timeout', /did not connect to the remote in/],
    [
      'has an endless header',
      ['HTTP/1.1 200 OK\r\n', `X-A: ${'a'.repeat(60_000)}`],
      'remote_protocol',
      /^The proxy that HTTPS_PROXY names does not speak HTTP$/,
    ],
    [
      'answers in place of the host',
      ['HTTP/1.1 200 OK\r\n\r\n<html>p@ss word</html>'],
      'remote_protocol',
      /does not answer like an HTTP proxy$/,
    ],
    ['is no proxy', ['SSH-2.0-OpenSSH_9\r\n'], 'remote_protocol', /does not speak HTTP$/],
  ])('because it %s is named, not shown, and left', async (_, answers, code, message) => {
    const proxy = await startHostile(...answers)
    const error = await failureOf(listRemote(throughProxy(proxy.at)))
    expect(error).toMatchObject({ code, message: expect.stringMatching(message) })
    expect(`${error.message} ${String(error.cause)}`).not.toMatch(/agent|ss.word|ss%20|YWdlbnQ|127/)
    await expect.poll(() => proxy.sockets.size).toBe(0)
  })

  test('is left when the caller cancels', async () => {
    const proxy = await startHostile()
    const controller = new AbortController()
    const attempt = failureOf(
      listRemote({ ...throughProxy(proxy.at), timeoutMs: 60_000, signal: controller.signal }),
    )
    await expect.poll(() => proxy.sockets.size).toBe(1)
    controller.abort()
    expect(await attempt).toMatchObject({ code: 'cancelled' })
    await expect.poll(() => proxy.sockets.size).toBe(0)
  })

  test.each<[string, string, RegExp]>([
    ['is not there', 'http://127.0.0.1:1', /cannot be reached: it refuses connections$/],
    ['speaks SOCKS', 'socks5h://agent:geheim@127.0.0.1:1', /SOCKS is not supported/],
    ['has another scheme', 'ftp://agent:geheim@127.0.0.1', /must begin with http:\/\/$/],
    ['has no address', 'http://agent:gehe%im@[', /must be like http:\/\/user:password@host:port$/],
  ])('because it %s is refused, and the host is not asked directly', async (_, text, message) => {
    const { url: direct, requests } = await startGitServer({ repository })
    const own = { ...environment, ALL_PROXY: text }
    const error = await failureOf(listRemote({ url: direct, environment: own }))
    expect(error).toMatchObject({
      code: 'remote_unreachable',
      message: expect.stringMatching(message),
    })
    expect(error.message).toMatch(/^The proxy that ALL_PROXY names /)
    expect(error.message).not.toMatch(/geheim|127/)
    expect(requests).toEqual([])
  })
})

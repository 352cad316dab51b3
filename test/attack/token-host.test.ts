// T40: a token of the environment is sent to the host that it is for, and to no other that asks:
// not to the host of an address that the user was persuaded to add, nor to one that looks alike.

import { describe, expect, test } from 'vitest'
import { Authenticator } from '../../src/transport/credentials.ts'
import type { ProcessEnvironment } from '../../src/transport/remote-access.ts'
import { Endurance } from '../../src/transport/stall.ts'
import { bareRemote } from '../support/clones.ts'
import { makeCertificate, startGitServer } from '../support/git-server.ts'
import { cleanEnvironment, temporaryDirectory } from '../support/temporary.ts'
import { requires } from '../support/tools.ts'
import { listRemote } from '../support/transfer.ts'
import { verdictOf } from '../support/verdict.ts'

const openssl = requires('openssl')
const token = 'ghp_secret'

function environmentWith(host: string | undefined): ProcessEnvironment {
  return {
    ...cleanEnvironment(),
    HOME: temporaryDirectory(),
    GITLOCKET_TOKEN: token,
    GITLOCKET_TOKEN_HOST: host,
  }
}

/** What a remote that asks is sent. */
async function sentTo(url: string, host: string | undefined): Promise<string | undefined> {
  const patience = new Endurance(10_000, undefined)
  const access = { url, environment: environmentWith(host) }
  const found = await new Authenticator(access, new URL(url), patience).next()
  return found?.password
}

describe('T40: the token is sent', () => {
  test.each([
    ['git.example.org', 'https://git.example.org/store.git'],
    ['git.example.org', 'https://git.example.org:443/store.git'],
    ['git.example.org:443', 'https://git.example.org/store.git'],
    ['Git.Example.ORG', 'https://git.example.org/store.git'],
    ['git.example.org:8443', 'https://git.example.org:8443/store.git'],
    ['[::1]:8443', 'https://[::1]:8443/store.git'],
    ['bücher.example', 'https://xn--bcher-kva.example/store.git'],
  ])('for %j to %s', async (host, url) => {
    expect(await sentTo(url, host)).toBe(token)
  })
})

describe('T40: the token is not sent', { tags: 'slow' }, () => {
  test.each([
    ['git.example.org', 'https://evil.example/store.git'],
    ['git.example.org', 'https://git.example.org.evil.example/store.git'],
    ['git.example.org', 'https://evil-git.example.org/store.git'],
    ['example.org', 'https://git.example.org/store.git'],
    ['git.example.org', 'https://git.example.org:8443/store.git'],
    ['git.example.org:8443', 'https://git.example.org/store.git'],
    ['git.example.org', 'https://git.example.org./store.git'],
    ['git.example.org', 'http://git.example.org/store.git'],
    ['git.example.org', 'https://evil.example/git.example.org'],
    ['localhost', 'https://127.0.0.1/store.git'],
  ])('for %j to %s', async (host, url) => {
    expect(await sentTo(url, host)).toBeUndefined()
  })
})

describe('T40: a token without a host is sent nowhere, and the error names what to set', () => {
  test.each([
    [undefined, 'is set without a host'],
    ['', 'is set without a host'],
    [' ', 'is set without a host'],
    ['https://git.example.org', 'is not a host'],
    ['git.example.org/', 'is not a host'],
    ['git.example.org/me', 'is not a host'],
    ['git.example.org,evil.example', 'is not a host'],
    ['me@git.example.org', 'is not a host'],
    ['evil.example#git.example.org', 'is not a host'],
    ['git.example.org\\@evil.example', 'is not a host'],
    ['git.example.org:99999', 'is not a host'],
    ['*', 'is not a host'],
    ['*.example.org', 'is not a host'],
  ])('%j', async (host, problem) => {
    await expect(sentTo('https://git.example.org/store.git', host)).rejects.toMatchObject({
      code: 'remote_auth',
      message: expect.stringMatching(new RegExp(`${problem}.*set GITLOCKET_TOKEN_HOST to`)),
    })
  })
})

test.skipIf(openssl.missing)(
  `T40: of two hosts that ask, only one receives it${openssl.note}`,
  { tags: 'slow' },
  async () => {
    const tls = makeCertificate()
    const user = { username: 'x-access-token', password: token }
    const right = await startGitServer({ repository: bareRemote(), tls, user })
    const wrong = await startGitServer({ repository: bareRemote(), tls, user })
    const environment = environmentWith(new URL(right.url).host)
    const access = { environment, certificateAuthorities: tls.cert }
    expect(await verdictOf(() => listRemote({ ...access, url: wrong.url }))).toBe('remote_auth')
    expect(await verdictOf(() => listRemote({ ...access, url: right.url }))).toBe('accepted')
    const sent = [right, wrong].map(({ requests }) => requests.map((one) => one.authorization))
    expect(sent[1]).toEqual([undefined])
    expect(sent[0]).toContain(`Basic ${Buffer.from(`x-access-token:${token}`).toString('base64')}`)
  },
)

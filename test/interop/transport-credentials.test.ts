// Credentials: where they come from, which host gets them, and that nothing else shows them.

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Credentials, RemoteAccess } from '../../src/transport/remote-access.ts'
import {
  environment,
  failureOf,
  fetchFrom,
  head,
  makeBare,
  program,
  push,
  sharedRemotes,
  withFault,
} from '../support/faulty-remotes.ts'
import {
  advertisement,
  answer,
  makeCertificate,
  on,
  onCredentials,
  redirect,
  startGitServer,
} from '../support/git-server.ts'
import { git, temporaryDirectory } from '../support/temporary.ts'
import { requires } from '../support/tools.ts'
import { listRemote } from '../support/transfer.ts'

const openssl = requires('openssl')
const password = 'correct horse/battery%staple'
const user = { username: 'me', password }
const { repository } = sharedRemotes()

describe('credentials', () => {
  test.skipIf(openssl.missing)(
    `a token of the environment is sent to an https host, and to no other${openssl.note}`,
    async () => {
      const tls = makeCertificate()
      const known = { username: 'x-access-token', password }
      const safe = await startGitServer({ repository, tls, user: known })
      const open = await startGitServer({ repository, user: known })
      const { host } = new URL(safe.url)
      const withToken = {
        ...environment,
        GITLOCKET_TOKEN: password,
        GITLOCKET_TOKEN_HOST: host,
      }
      const access = { environment: withToken, certificateAuthorities: tls.cert }
      expect(await listRemote({ ...access, url: safe.url })).toMatchObject({ head })
      expect(await failureOf(listRemote({ ...access, url: open.url }))).toMatchObject({
        code: 'remote_auth',
        message: expect.stringMatching(/GITLOCKET_TOKEN was not sent.*only sent over https$/),
      })
      const elsewhere = { ...withToken, GITLOCKET_TOKEN_HOST: 'git.example.org' }
      const refused = await failureOf(listRemote({ ...access, ...safe, environment: elsewhere }))
      expect(refused).toMatchObject({
        code: 'remote_auth',
        message: expect.stringMatching(/GITLOCKET_TOKEN was not sent.*names another host$/),
      })
      expect(open.requests.map(({ authorization }) => authorization)).toEqual([undefined])
    },
  )

  test.skipIf(openssl.missing)(
    `a token has no mark and no newline, and one of several lines is not sent${openssl.note}`,
    async () => {
      const tls = makeCertificate()
      const known = { username: 'me', password: 'geheim' }
      const { url, requests } = await startGitServer({ repository, tls, user: known })
      const withToken = (token: string): RemoteAccess => {
        const own = { GITLOCKET_TOKEN: token, GITLOCKET_TOKEN_HOST: new URL(url).host }
        const variables = { ...environment, ...own }
        return { url, environment: variables, certificateAuthorities: tls.cert }
      }
      for (const written of ['me:geheim\r\n', '\u{feff}me:geheim\n']) {
        expect(await listRemote(withToken(written))).toMatchObject({ head })
      }
      const sent = requests.length
      expect(await failureOf(listRemote(withToken('me:ge\nheim')))).toMatchObject({
        code: 'remote_auth',
        message: expect.stringMatching(/GITLOCKET_TOKEN was not sent.*control character/),
      })
      expect(requests.slice(sent).map(({ authorization }) => authorization)).toEqual([undefined])
    },
  )

  test('that were accepted once go with the first request, until they are refused', async () => {
    const server = await startGitServer({ repository, user })
    const accepted = new Map<string, Credentials>()
    const access = { url: server.url, environment, credentials: async () => user, accepted }
    for (let time = 0; time < 3; time += 1) await listRemote(access)
    const sent = (): readonly boolean[] =>
      server.requests.map(({ authorization }) => authorization !== undefined)
    expect(sent()).toEqual([false, true, true, true])
    accepted.set(server.url, { username: 'me', password: 'of yesterday' })
    await listRemote(access)
    expect(sent()).toHaveLength(6)
    expect([...accepted.values()]).toEqual([user])
  })

  test('wrong ones are requested three times at most, and shown nowhere', async () => {
    const server = await startGitServer({ repository, user })
    const attempts: number[] = []
    const wrong = (attempt: number) => ({ username: 'me', password: `wrong ${attempt} secret` })
    server.fault = ({ headers }, response) => {
      if (headers.authorization === undefined || attempts.length < 3) return false
      const echoed = Buffer.from(headers.authorization.slice(6), 'base64').toString()
      answer(403, `You sent ${headers.authorization} which is ${echoed}`)(response)
      return true
    }
    const credentials: RemoteAccess['credentials'] = async ({ attempt }) => {
      attempts.push(attempt)
      return wrong(attempt)
    }
    const error = await failureOf(listRemote({ url: server.url, environment, credentials }))
    expect(attempts).toEqual([1, 2, 3])
    expect(error.message).toBe(
      'The remote denies access to this account (403): You sent Basic *** which is me:***',
    )
    expect(JSON.stringify(error.cause ?? '')).not.toContain('secret')
  })

  test('none at all is an error immediately, without a prompt', async () => {
    const server = await startGitServer({ repository, user })
    const asked = join(temporaryDirectory(), 'asked')
    const askpass = program(`echo "$1" >> ${asked}; echo guess`)
    const nosy = { ...environment, GIT_ASKPASS: askpass, SSH_ASKPASS: askpass, DISPLAY: ':0' }
    const error = await failureOf(listRemote({ url: server.url, environment: nosy }))
    expect(error.code).toBe('remote_auth')
    expect(existsSync(asked)).toBe(false)
  })

  test(
    "git's helpers are asked, and learn whether the answer was accepted",
    { tags: 'slow' },
    async () => {
      const server = await startGitServer({ repository, user })
      const log = join(temporaryDirectory(), 'log')
      const reply = `username=me\\npassword=${password.replace('%', '%%')}\\n`
      const helper = program(
        `printf '%s ' "$1" >> ${log}; grep -v -e ^username -e ^password | tr '\\n' ' ' >> ${log};` +
          ` if [ "$1" = get ]; then printf '${reply}'; fi`,
      )
      const config = join(temporaryDirectory(), 'config')
      writeFileSync(config, `[credential]\n\thelper = ${helper}\n`)
      const withHelper = { ...environment, GIT_CONFIG_GLOBAL: config }
      expect(await listRemote({ url: server.url, environment: withHelper })).toMatchObject({ head })
      const host = server.url.slice('http://'.length).split('/')[0]
      expect(readFileSync(log, 'utf8')).toMatch(
        new RegExp(`^get protocol=http host=${host} .*store protocol=http host=${host} `),
      )
      const other = await startGitServer({ repository, user: { ...user, password: 'changed' } })
      const error = await failureOf(listRemote({ url: other.url, environment: withHelper }))
      expect(error.code).toBe('remote_auth')
      expect(readFileSync(log, 'utf8')).toContain('erase protocol=http')
    },
  )

  test('a helper that waits for a person is not waited for', { tags: 'slow' }, async () => {
    const server = await startGitServer({ repository, user })
    const config = join(temporaryDirectory(), 'config')
    writeFileSync(config, `[credential]\n\thelper = ${program('exec sleep 300')}\n`)
    const slow = { ...environment, GIT_CONFIG_GLOBAL: config }
    const error = await failureOf(
      listRemote({ url: server.url, environment: slow, timeoutMs: 500 }),
    )
    expect(error.code).toBe('remote_auth')
  })

  test('do not follow a redirect to another host', { tags: 'slow' }, async () => {
    const own = makeBare(join(temporaryDirectory(), 'own.git'))
    git(['fetch', '--quiet', repository, 'main:main'], own)
    const elsewhere = await startGitServer({ repository: own })
    const server = await startGitServer({ repository, user })
    server.fault = onCredentials(redirect(elsewhere))
    const access = { url: server.url, environment, credentials: async () => user }
    await fetchFrom(access)
    expect(elsewhere.requests.map(({ method }) => method)).toEqual(['GET', 'POST'])
    expect(elsewhere.requests.map(({ authorization }) => authorization)).toEqual([
      undefined,
      undefined,
    ])
    git(['update-ref', '-d', 'refs/heads/main'], own)
    await push(access)
    expect(elsewhere.requests.every(({ authorization }) => authorization === undefined)).toBe(true)
  })

  test('are not looked up for a host that was redirected to', async () => {
    const elsewhere = await startGitServer({ repository, user })
    const location = `${elsewhere.url}/info/refs?service=git-upload-pack`
    const fault = on(advertisement, answer(301, '', { location }))
    const { access } = await withFault(repository, fault)
    let asked = false
    const credentials = async (): Promise<typeof user> => {
      asked = true
      return user
    }
    const error = await failureOf(listRemote({ ...access, credentials }))
    expect(error).toMatchObject({
      code: 'remote_auth',
      message: expect.stringMatching(/redirects/),
    })
    expect(asked).toBe(false)
  })
})

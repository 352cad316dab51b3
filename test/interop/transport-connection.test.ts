// The way to a host: redirects, certificates, programs that hang or are not there. Nothing is left
// behind, and nothing of ours is told to them.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  environment,
  failureOf,
  failureOnce,
  fetchFrom,
  isWritten,
  program,
  sharedRemotes,
  withFault,
} from '../support/faulty-remotes.ts'
import {
  answer,
  type Fault,
  fetching,
  makeCertificate,
  makeExpiredCertificate,
  nak,
  on,
  stall,
  startGitServer,
} from '../support/git-server.ts'
import { startSshServer } from '../support/ssh-server.ts'
import { temporaryDirectory } from '../support/temporary.ts'
import { requires } from '../support/tools.ts'
import { listRemote } from '../support/transfer.ts'

const openssl = requires('openssl')
const sshd = requires('sshd')
const { repository } = sharedRemotes()

describe('a redirect', () => {
  test.each<[string, string]>([
    ['in circles', ''],
    ['to a page', 'http://127.0.0.1:1/login'],
    ['to another scheme', 'file:///etc/passwd'],
    ['to another host without https', 'http://localhost:1/info/refs?service=git-upload-pack'],
    ['with credentials', 'https://a:b@localhost/info/refs?service=git-upload-pack'],
    ['to nowhere', 'http://['],
  ])('%s is not followed', async (_, location) => {
    const fault: Fault = ({ url = '' }, response) => {
      answer(302, '', { location: location === '' ? url : location })(response)
      return true
    }
    const { access } = await withFault(repository, fault)
    const error = await failureOf(listRemote(access))
    expect(error).toMatchObject({
      code: 'remote_protocol',
      message: expect.stringMatching(/redirects/),
    })
  })
})

describe('the connection', () => {
  test('is refused', async () => {
    const access = { url: 'http://127.0.0.1:1/x', environment }
    const error = await failureOf(listRemote(access))
    expect(error).toMatchObject({
      code: 'remote_unreachable',
      message: expect.stringMatching(/refuses/),
    })
  })

  test.skipIf(openssl.missing)(
    `has a certificate that no known authority has signed${openssl.note}`,
    async () => {
      const { url } = await startGitServer({ repository, tls: makeCertificate() })
      const error = await failureOf(listRemote({ url, environment }))
      expect(error).toMatchObject({
        code: 'remote_untrusted',
        message: expect.stringMatching(/certificate is refused/),
      })
    },
  )

  test.skipIf(openssl.missing)(`has a certificate that has expired${openssl.note}`, async () => {
    const tls = makeExpiredCertificate()
    const { url } = await startGitServer({ repository, tls })
    const error = await failureOf(
      listRemote({ url, environment, certificateAuthorities: tls.cert }),
    )
    expect(error).toMatchObject({ code: 'remote_expired' })
  })

  test('may be given up at any moment', async () => {
    const { access } = await withFault(repository, on(fetching, stall(nak)))
    const controller = new AbortController()
    setTimeout(() => controller.abort(), 100)
    const attempt = fetchFrom({ ...access, timeoutMs: 30_000, signal: controller.signal })
    expect(await failureOf(attempt)).toMatchObject({ code: 'cancelled' })
  })
})

describe('a program that speaks for a host', () => {
  test('is ended when it hangs', { tags: 'slow' }, async () => {
    const pid = join(temporaryDirectory(), 'pid')
    const hanging = program(`echo $$ > ${pid}; exec sleep 300`)
    const access = { url: 'host:x', environment, sshCommand: [hanging] }
    const work = () => listRemote(access)
    expect(await failureOnce(() => isWritten(pid), work)).toMatchObject({ code: 'remote_timeout' })
    expect(() => process.kill(Number(readFileSync(pid, 'utf8')), 0)).toThrow('ESRCH')
  })

  test('is ended when the caller cancels', { tags: 'slow' }, async () => {
    const hanging = program('exec sleep 300')
    const signal = AbortSignal.timeout(100)
    const access = { url: 'host:x', environment, sshCommand: [hanging], signal }
    expect(await failureOf(listRemote(access))).toMatchObject({ code: 'cancelled' })
  })

  test('is missing', async () => {
    const access = { url: 'host:x', environment, sshCommand: ['/nowhere/ssh'] }
    const error = await failureOf(listRemote(access))
    expect(error).toMatchObject({
      code: 'remote_unreachable',
      message: 'The program ssh is not installed',
    })
  })

  test('gets the host, the service and the path, each as one word', async () => {
    const log = join(temporaryDirectory(), 'log')
    const spy = program(`printf '<%s>' "$@" >> ${log}; exit 1`)
    const environmentWithSpy = { ...environment, GIT_SSH_COMMAND: `'${spy}' -v` }
    const url = "ssh://me@host.example:2222/it's here.git"
    await failureOf(listRemote({ url, environment: environmentWithSpy }))
    expect(readFileSync(log, 'utf8')).toBe(
      "<-v><-o><BatchMode=yes><-p><2222><me@host.example><git-upload-pack '/it'\\''s here.git'>",
    )
  })

  test('learns nothing of ours', async () => {
    const log = join(temporaryDirectory(), 'log')
    const spy = program(`env > ${log}; exit 1`)
    const secretive = { ...environment, GITLOCKET_TOKEN: 'geheim', GIT_DIR: '/x', HOME: '/home/me' }
    await failureOf(listRemote({ url: 'host:x', environment: secretive, sshCommand: [spy] }))
    const seen = readFileSync(log, 'utf8')
    expect(seen).toContain('HOME=/home/me')
    expect(seen).not.toMatch(/geheim|GITLOCKET|GIT_DIR/)
  })

  test.skipIf(sshd.missing)(
    `ssh does not accept our key, or we not its${sshd.note}`,
    { tags: 'slow' },
    async () => {
      const { url, strangerCommand, newcomerCommand } = await startSshServer()
      const access = { url: `${url}${repository}`, environment }
      const stranger = await failureOf(listRemote({ ...access, sshCommand: strangerCommand }))
      expect(stranger).toMatchObject({
        code: 'remote_auth',
        message: expect.stringMatching(/ssh keys/),
      })
      const newcomer = await failureOf(listRemote({ ...access, sshCommand: newcomerCommand }))
      expect(newcomer).toMatchObject({
        code: 'remote_untrusted',
        message: expect.stringMatching(/unknown/),
      })
    },
  )
})

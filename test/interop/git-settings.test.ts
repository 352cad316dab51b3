// The user's settings of git for connections apply here too: its ssh command, the certificates that
// it trusts. Those of a repository do not.
// @module-tag slow

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  environment,
  failureOf,
  failureOnce,
  head,
  makeBare,
  program,
  push,
  sharedRemotes,
  isWritten,
} from '../support/faulty-remotes.ts'
import { type Fault, makeCertificate, startGitServer } from '../support/git-server.ts'
import { git, temporaryDirectory } from '../support/temporary.ts'
import { requires } from '../support/tools.ts'
import { listRemote } from '../support/transfer.ts'

const openssl = requires('openssl')
const { repository } = sharedRemotes()

function configWith(text: string): NodeJS.ProcessEnv {
  const file = join(temporaryDirectory(), 'settings')
  writeFileSync(file, text)
  return { ...environment, GIT_CONFIG_GLOBAL: file }
}

/** Stands for ssh: runs the service here. */
function localSsh(): string {
  return program('while [ $# -gt 1 ]; do shift; done; exec sh -c "$1"')
}

describe('the ssh command', () => {
  const url = 'host.example:'

  test.each<[string, (ssh: string) => NodeJS.ProcessEnv]>([
    ['may have variables', (ssh) => ({ ...environment, S: ssh, GIT_SSH_COMMAND: '$S' })],
    ['may set variables', (ssh) => ({ ...environment, GIT_SSH_COMMAND: `X=1 ${ssh}` })],
    ['may be core.sshCommand', (ssh) => configWith(`[core]\n\tsshCommand = ${ssh}\n`)],
    [
      'is that of the variable if there are both',
      (ssh) => ({ ...configWith('[core]\n\tsshCommand = false\n'), GIT_SSH_COMMAND: ssh }),
    ],
    [
      'is core.sshCommand, and not GIT_SSH',
      (ssh) => ({ ...configWith(`[core]\n\tsshCommand = ${ssh}\n`), GIT_SSH: 'false' }),
    ],
  ])('%s', async (_, environmentOf) => {
    const access = { url: `${url}${repository}`, environment: environmentOf(localSsh()) }
    expect(await listRemote(access)).toMatchObject({ head })
  })

  test('is not that of a repository (T22)', async () => {
    const directory = makeBare(join(temporaryDirectory(), 'prepared.git'))
    const ran = join(temporaryDirectory(), 'ran')
    git(['config', 'core.sshCommand', program(`touch ${ran}; exit 1`)], directory)
    const own = { ...environment, GIT_DIR: directory, GIT_SSH: localSsh() }
    expect(await listRemote({ url: `${url}${repository}`, environment: own })).toMatchObject({
      head,
    })
    expect(existsSync(ran)).toBe(false)
  })

  test('that is missing is named', async () => {
    const own = { ...environment, GIT_SSH_COMMAND: '/nowhere/ssh -v' }
    expect(await failureOf(listRemote({ url: `${url}x`, environment: own }))).toMatchObject({
      code: 'remote_unreachable',
      message: expect.stringMatching(/GIT_SSH_COMMAND or core.sshCommand .* is not installed/),
    })
  })

  test('ends with all that its shell has started', { tags: 'slow' }, async () => {
    const pid = join(temporaryDirectory(), 'pid')
    const hanging = program(`echo $$ > ${pid}; exec sleep 300`)
    const own = { ...environment, GIT_SSH_COMMAND: `${hanging} -v; true` }
    const work = () => listRemote({ url: `${url}x`, environment: own })
    expect(await failureOnce(() => isWritten(pid), work)).toMatchObject({ code: 'remote_timeout' })
    const state = join('/proc', readFileSync(pid, 'utf8').trim(), 'status')
    // The signal has been sent, and the process ends once the machine gets to it. Its parent, which
    // would have reaped it, has ended as well: it may still be a zombie.
    const ended = () => !existsSync(state) || /State:\tZ/.test(readFileSync(state, 'utf8'))
    await expect.poll(ended, { timeout: 60_000 }).toBe(true)
  })
})

describe('certificates', () => {
  const rows: readonly (readonly [string, (url: string, file: string) => string])[] = [
    ['http.sslCAInfo', (_, file) => `[http]\n\tsslCAInfo = ${file}\n`],
    ['http.<url>.sslCAInfo', (url, file) => `[http "${url}"]\n\tsslCAInfo = ${file}\n`],
    ['http.sslCAPath', (_, file) => `[http]\n\tsslCAPath = ${join(file, '..')}\n`],
  ]
  test.skipIf(openssl.missing).each(rows)('of %s are trusted', async (_, text) => {
    const tls = makeCertificate()
    const { url } = await startGitServer({ repository, tls })
    const file = join(temporaryDirectory(), 'ca.pem')
    writeFileSync(file, tls.cert)
    const own = configWith(text(new URL(url).origin, file))
    expect(await listRemote({ url, environment: own })).toMatchObject({ head })
  })

  test.skipIf(openssl.missing)(
    `of another address, or of a variable next to the setting, are not${openssl.note}`,
    async () => {
      const tls = makeCertificate()
      const { url } = await startGitServer({ repository, tls })
      const file = join(temporaryDirectory(), 'ca.pem')
      writeFileSync(file, tls.cert)
      const other = configWith(`[http "https://other.example"]\n\tsslCAInfo = ${file}\n`)
      const refused = { code: 'remote_untrusted' }
      expect(await failureOf(listRemote({ url, environment: other }))).toMatchObject(refused)
      const all = configWith(`[http]\n\tsslCAInfo = ${file}\n`)
      const named = { url, environment: all, certificateAuthorities: makeCertificate().cert }
      expect(await failureOf(listRemote(named))).toMatchObject(refused)
    },
  )
})

test.each([
  ['with a parameter', (type: string) => `${type}; charset=utf-8`],
  ['in capitals', (type: string) => type.toUpperCase()],
])('the media type of a list may come %s', async (_, changed) => {
  const fault: Fault = (__, response) => {
    const setHeader = response.setHeader.bind(response)
    response.setHeader = (name, value) => {
      const isType = name.toLowerCase() === 'content-type'
      return setHeader(name, isType ? changed(String(value)) : value)
    }
    return false
  }
  const { url } = await startGitServer({ repository, fault })
  expect(await listRemote({ url, environment })).toMatchObject({ head })
})

describe('an unreadable configuration of git is reported with its own code', () => {
  const broken = (): NodeJS.ProcessEnv => configWith('[broken\n')
  const expected = {
    code: 'git_config_invalid',
    message: expect.stringMatching(
      /^The configuration of git on this machine .*in file settings\)$/,
    ),
  }

  test.each([
    ['a fetch from a path', () => listRemote({ url: repository, environment: broken() })],
    [
      'a push to a path',
      () => push({ url: makeBare(join(temporaryDirectory(), 'r.git')), environment: broken() }),
    ],
    ['ssh', () => listRemote({ url: 'host.example:x', environment: broken() })],
  ])('over %s', async (_, work) => {
    expect(await failureOf(work())).toMatchObject(expected)
  })

  test('when a host asks for credentials', async () => {
    const user = { username: 'me', password: 'geheim' }
    const { url } = await startGitServer({ repository, user })
    expect(await failureOf(listRemote({ url, environment: broken() }))).toMatchObject(expected)
  })
})

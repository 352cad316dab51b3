// Whole stores on real hosts: a path, git's own server over https and ssh, and gitolite, which has
// accounts, rights and hooks of its own. The repositories are plain git: anyone may clone them,
// check them and verify their signatures.

import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import type { RemoteOptions, SyncReport } from '../../src/index.ts'
import { bareRemote, type Clone, firstClone, headOf, joinClone } from '../support/clones.ts'
import { failureOf } from '../support/faulty-remotes.ts'
import { makeCertificate, startGitServer } from '../support/git-server.ts'
import { type Gitolite, startGitolite } from '../support/gitolite.ts'
import { branchOf, create, edit, leak, redact } from '../support/hostile-remotes.ts'
import { patience } from '../support/patience.ts'
import { sample } from '../support/seed.ts'
import { startSshServer } from '../support/ssh-server.ts'
import { author, contentsOf } from '../support/stores.ts'
import { cleanEnvironment, git, temporaryDirectory } from '../support/temporary.ts'
import { type Requirement, requires } from '../support/tools.ts'

interface Host {
  readonly url: string
  readonly access: RemoteOptions
  /** Where the host keeps the repository. */
  readonly directory: string
  /** What stock git needs to know to clone from there. */
  readonly environment: NodeJS.ProcessEnv
  /** Given what replaces the branch, sees it refused, and has it allowed. */
  readonly refusesFirst?: (replace: () => Promise<unknown>) => Promise<void>
}

const sshd = requires('sshd')
const openssl = requires('openssl')
const gitolite = requires('gitolite')
const user = { username: 'me', password: 'top secret' }
const environment = cleanEnvironment()

async function onPath(): Promise<Host> {
  const directory = bareRemote()
  return { url: directory, access: { environment }, directory, environment }
}

async function onHttps(): Promise<Host> {
  const directory = bareRemote()
  git(['config', 'http.receivepack', 'true'], directory)
  const tls = makeCertificate()
  const { url } = await startGitServer({ repository: directory, tls, user })
  const access = {
    environment,
    certificateAuthorities: tls.cert,
    credentials: async () => user,
  }
  const authority = `${temporaryDirectory()}/authority.pem`
  writeFileSync(authority, tls.cert)
  const header = Buffer.from(`${user.username}:${user.password}`).toString('base64')
  const config = {
    GIT_SSL_CAINFO: authority,
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: 'http.extraHeader',
    GIT_CONFIG_VALUE_0: `Authorization: Basic ${header}`,
  }
  return { url, access, directory, environment: { ...environment, ...config } }
}

async function onSsh(): Promise<Host> {
  const directory = bareRemote()
  const { url, command } = await startSshServer()
  return {
    url: `${url}${directory}`,
    access: { environment, sshCommand: command },
    directory,
    environment: { ...environment, GIT_SSH_COMMAND: command.join(' ') },
  }
}

/** Which denies a branch to be replaced until it is told otherwise. */
async function onGitolite(): Promise<Host & { readonly gitolite: Gitolite }> {
  const host = await startGitolite('RW = alice', 'R = bob')
  const refusesFirst = async (replace: () => Promise<unknown>): Promise<void> => {
    const before = branchOf(host.directory)
    expect(await failureOf(replace())).toMatchObject({
      code: 'push_rejected',
      message: expect.stringContaining('allow forced pushes to refs/heads/main once'),
    })
    expect(branchOf(host.directory)).toBe(before)
    host.allow('RW+ = alice', 'R = bob')
  }
  return { ...host, access: host.alice, refusesFirst, gitolite: host }
}

/** As strangers do it: a working tree and all, from the address. */
async function cloneWithGit({ url, environment: env }: Host): Promise<string> {
  const clone = `${temporaryDirectory()}/clone`
  // Not synchronously: the host may be in this process.
  await promisify(execFile)('git', ['clone', '--quiet', url, clone], {
    env,
    timeout: patience.timeout,
  })
  return clone
}

function expectSound(clone: string, signers: string): void {
  expect(git(['fsck', '--strict', '--full', '--no-dangling'], clone)).toBe('')
  const file = `${temporaryDirectory()}/signers`
  writeFileSync(file, signers)
  const commits = git(['rev-list', 'origin/main'], clone).trim().split('\n')
  git(['-c', `gpg.ssh.allowedSignersFile=${file}`, 'verify-commit', ...commits], clone)
}

type Row = readonly [name: string, start: () => Promise<Host>, needs: Requirement | undefined]

const hosts: readonly Row[] = [
  ['a path', onPath, undefined],
  ['ssh', onSsh, sshd],
  ['https with a password', onHttps, openssl],
]

describe('a store is pushed, joined, merged, redacted, and cloned with stock git', () => {
  for (const [name, start, needs] of sample(hosts, 3)) {
    test.skipIf(needs?.missing)(`over ${name}${needs?.note ?? ''}`, { tags: 'slow' }, async () => {
      await expectServes(await start())
    })
  }

  const lacking = [sshd, gitolite].find(({ missing }) => missing)
  test.skipIf(lacking !== undefined)(
    `on gitolite, with its rights${lacking?.note ?? ''}`,
    { tags: 'slow' },
    async () => {
      const host = await onGitolite()
      const a = await expectServes(host)
      const { bob, alice } = host.gitolite
      const denied = { code: 'remote_auth', message: 'The remote denies access' }
      // A user who may only read can fetch all of it, and cannot become a device.
      expect(await failureOf(joinClone(a, host.url, { access: bob }))).toMatchObject(denied)
      const pull = { access: bob, only: 'pull' } as const
      expect(await a.store.as(author).sync(pull)).toMatchObject({ received: { commits: 0 } })
      host.gitolite.allow('RW+ = alice')
      expect(await failureOf(a.store.as(author).sync(pull))).toMatchObject(denied)
      await a.store.as(author).sync({ access: alice })
    },
  )
})

/** Returns the first machine. */
async function expectServes(host: Host): Promise<Clone> {
  const { access } = host
  const sync = ({ store }: Clone): Promise<SyncReport> => store.as(author).sync({ access })
  const a = await firstClone(host.url)
  await create(a, '/notes.md', 'one\ntwo\nthree\n')
  const versionId = await leak(a)
  await sync(a)
  const b = await joinClone(a, host.url, { access })
  await edit(a, '/notes.md', 'eins\ntwo\nthree\n')
  await edit(b, '/notes.md', 'one\ntwo\ndrei\n')
  await sync(a)
  expect((await sync(b)).outcomes).toMatchObject([{ kind: 'merged', path: '/notes.md' }])
  await sync(a)
  await redact(a, versionId)
  await host.refusesFirst?.(() => sync(a))
  await sync(a)
  expect(await sync(b)).toMatchObject({ erased: 1 })
  expect(await contentsOf(b.store)).toMatchObject({ '/notes.md': 'eins\ntwo\ndrei\n' })
  expect([await headOf(a), await headOf(b)]).toEqual(Array(2).fill(branchOf(host.directory)))
  expectSound(await cloneWithGit(host), await a.store.maintenance.allowedSigners())
  return a
}

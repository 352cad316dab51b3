// Hosts that lack a feature, or refuse: a sync does without the feature, a refusal is explained,
// and nothing is lost by it: the next sync that is allowed completes the work.

import { randomBytes } from 'node:crypto'
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { RemoteOptions, SyncReport } from '../../src/index.ts'
import {
  bareRemote,
  checkWithGit,
  type Clone,
  firstClone,
  headOf,
  joinClone,
} from '../support/clones.ts'
import { failureOf } from '../support/faulty-remotes.ts'
import { branchOf, create, leak, redact } from '../support/hostile-remotes.ts'
import { sample } from '../support/seed.ts'
import { fillDisk, isRoot, mountDisk, remountDisk, unmountDisk } from '../support/small-disk.ts'
import { startSshServer } from '../support/ssh-server.ts'
import { author, contentsOf } from '../support/stores.ts'
import { cleanEnvironment, git, temporaryDirectory } from '../support/temporary.ts'
import { requires } from '../support/tools.ts'

interface Host {
  readonly url: string
  readonly access: RemoteOptions
  readonly directory: string
  /** From now on it refuses what the case is about, and from then on no more. */
  forbid(): void
  allow(): void
}

const sshd = requires('sshd')

/** Over ssh, where the host runs its hooks: those of a path are not run (T22). */
function onSsh(forbid: (directory: string) => void, allow: (directory: string) => void) {
  return async (): Promise<Host> => {
    const directory = bareRemote()
    const { url, command } = await startSshServer()
    return {
      url: `${url}${directory}`,
      access: { environment: cleanEnvironment(), sshCommand: command },
      directory,
      forbid: () => forbid(directory),
      allow: () => allow(directory),
    }
  }
}

function setting(name: string): () => Promise<Host> {
  return onSsh(
    (directory) => void git(['config', name, 'true'], directory),
    (directory) => void git(['config', '--unset', name], directory),
  )
}

function hook(name: string, script: string): () => Promise<Host> {
  return onSsh(
    (directory) => {
      const path = `${directory}/hooks/${name}`
      mkdirSync(`${directory}/hooks`, { recursive: true })
      writeFileSync(path, `#!/bin/sh\n${script}\n`)
      chmodSync(path, 0o755)
    },
    (directory) => rmSync(`${directory}/hooks/${name}`),
  )
}

const forced = /allow forced pushes to refs\/heads\/main once and sync again, or report to it the/
const impolite = `printf 'No \\033[31msecrets\\033[0m \\342\\200\\256here\\007\\n' >&2; exit 1`
/** As GitHub and GitLab say it. */
const protects = `echo 'error: GH006: Protected branch update failed for refs/heads/main.' >&2
echo 'error: Cannot force-push to this branch' >&2; exit 1`

type Row = readonly [name: string, start: () => Promise<Host>, says: RegExp]

const refusals: readonly Row[] = [
  ['receive.denyNonFastForwards', setting('receive.denyNonFastForwards'), forced],
  ['a protected branch', hook('pre-receive', protects), forced],
  [
    'a pre-receive hook',
    hook('pre-receive', impolite),
    /a hook there declines it .*No secrets here\)$/,
  ],
  ['an update hook', hook('update', 'exit 1'), /a hook there declines it/],
]

describe('a redaction on a host that refuses to replace the branch', () => {
  for (const [name, start, says] of sample(refusals, 4)) {
    test.skipIf(sshd.missing)(
      `is explained, and completed later: ${name}${sshd.note}`,
      { tags: 'slow' },
      async () => {
        await expectCompletedLater(await start(), says)
      },
    )
  }
})

async function expectCompletedLater(host: Host, says: RegExp): Promise<void> {
  const { access } = host
  const sync = ({ store }: Clone): Promise<SyncReport> => store.as(author).sync({ access })
  const a = await firstClone(host.url)
  const versionId = await leak(a)
  await sync(a)
  const b = await joinClone(a, host.url, { access })
  await sync(a)
  const before = branchOf(host.directory)
  host.forbid()
  await redact(a, versionId)
  const refused = await failureOf(sync(a))
  expect(refused).toMatchObject({ code: 'push_rejected', message: expect.stringMatching(says) })
  // Nothing that a terminal would obey.
  expect(refused.message).toMatch(/^[\u0020-\u007E]*$/)
  expect(branchOf(host.directory)).toBe(before)
  await expectWhole(a, versionId)
  // Later writes do not make it worse.
  await create(a, '/later.md')
  expect(await failureOf(sync(a))).toMatchObject({ code: 'push_rejected' })
  host.allow()
  await sync(a)
  expect(await sync(b)).toMatchObject({ erased: 1 })
  for (const clone of [a, b]) await expectWhole(clone, versionId)
  expect(await contentsOf(b.store)).toEqual({ '/key.txt': 'revoked', '/later.md': '/later.md' })
  expect([await headOf(a), await headOf(b)]).toEqual(Array(2).fill(branchOf(host.directory)))
  checkWithGit(host.directory)
}

async function expectWhole({ store }: Clone, redacted: string): Promise<void> {
  await store.maintenance.verify()
  expect((await store.history.version(redacted)).content).toBeUndefined()
  expect((await store.maintenance.findResidue()).found).toEqual([])
}

describe('a host that lacks or denies features that we do not need', () => {
  const settings: readonly (readonly [what: string, setting: readonly [string, string]])[] = [
    ['atomic pushes', ['receive.advertiseAtomic', 'false']],
    ['offset deltas', ['repack.useDeltaBaseOffset', 'false']],
    ['deletions of refs', ['receive.denyDeletes', 'true']],
    ['objects that fsck warns of', ['receive.fsckObjects', 'true']],
  ]
  test.each(sample(settings, 4))(
    '%s: pushes, redactions and joining go as ever',
    { tags: 'slow' },
    async (_, [name, value]) => {
      const remote = bareRemote()
      git(['config', name, value], remote)
      const a = await firstClone(remote)
      const versionId = await leak(a)
      await a.store.as(author).sync()
      await redact(a, versionId)
      await a.store.as(author).sync()
      const b = await joinClone(a, remote)
      expect(await contentsOf(b.store)).toEqual({ '/key.txt': 'revoked' })
    },
  )
})

describe('a lasting fault of a host is named, and its advice helps', () => {
  const syncOf = ({ store }: Clone): Promise<SyncReport> => store.as(author).sync()

  const faults: readonly (readonly [string, (at: string) => void, object, (at: string) => void])[] =
    [
      [
        'the lock of a program that died',
        (at) => writeFileSync(`${at}/refs/heads/main.lock`, ''),
        {
          code: 'remote_locked',
          message: expect.stringMatching(/cannot lock its branch .*main\.lock': File exists/),
        },
        (at) => rmSync(`${at}/refs/heads/main.lock`),
      ],
      [
        'a branch below the name of ours',
        (at) => {
          git(['branch', '-m', 'main', 'other'], at)
          git(['branch', 'main/old', 'other'], at)
          git(['update-ref', '-d', 'refs/heads/other'], at)
        },
        { code: 'push_rejected', message: expect.stringMatching(/below refs\/heads\/main\//) },
        (at) => git(['branch', '-m', 'main/old', 'old'], at),
      ],
    ]
  test.each(faults)('%s', { tags: 'slow' }, async (_, spoil, error, follow) => {
    const remote = bareRemote()
    const a = await firstClone(remote)
    const isNew = error !== faults[0]?.[2]
    if (isNew) git(['fetch', '--quiet', a.place.directory, 'HEAD:refs/heads/main'], remote)
    else await syncOf(a)
    await create(a, '/new.md')
    spoil(remote)
    expect(await failureOf(syncOf(a))).toMatchObject(error)
    follow(remote)
    await syncOf(a)
    expect(branchOf(remote)).toBe(await headOf(a))
  })

  test('a shallow clone', { tags: 'slow' }, async () => {
    const remote = bareRemote()
    const a = await firstClone(remote)
    for (const path of ['/1.md', '/2.md']) await create(a, path)
    await syncOf(a)
    const shallow = `${remote}.shallow`
    git(['clone', '--quiet', '--bare', '--depth=1', `file://${remote}`, shallow], '/')
    await a.store.remotes.add('shallow', shallow)
    const sync = (): Promise<SyncReport> => a.store.as(author).sync({ remote: 'shallow' })
    expect(await failureOf(sync())).toMatchObject({
      code: 'remote_shallow',
      message: expect.stringMatching(/is a shallow clone/),
    })
    git(['fetch', '--quiet', '--unshallow'], shallow)
    await create(a, '/3.md')
    await sync()
    expect(branchOf(shallow)).toBe(await headOf(a))
  })

  test
    .skipIf(!isRoot)
    .for<[string, (disk: string) => void, (disk: string) => void, { code: string; says: RegExp }]>([
      [
        'a full disk',
        (disk) => fillDisk(`${disk}/filler`),
        (disk) => rmSync(`${disk}/filler`),
        { code: 'remote_full', says: /no space for the push .*No space left/ },
      ],
      [
        'a read-only disk',
        (disk) => remountDisk(disk, 'ro'),
        (disk) => remountDisk(disk, 'rw'),
        { code: 'push_rejected', says: /make its file system and its files writable/ },
      ],
    ])(
    '%s (as root, who may mount)',
    { tags: 'slow' },
    async ([, spoil, mend, { code, says }], { skip }) => {
      const disk = temporaryDirectory()
      if (!mountDisk(disk, '1m')) skip('root may not mount here')
      onTestFinished(() => unmountDisk(disk))
      const remote = `${disk}/store.git`
      git(['init', '--quiet', '--bare', '--initial-branch=main', remote], '/')
      const a = await firstClone(remote)
      await syncOf(a)
      spoil(disk)
      await a.store.as(author).write('/large.md', randomBytes(50_000).toString('hex'))
      const message = expect.stringMatching(says)
      expect(await failureOf(syncOf(a))).toMatchObject({ code, message })
      mend(disk)
      await syncOf(a)
      expect(branchOf(remote)).toBe(await headOf(a))
    },
  )
})

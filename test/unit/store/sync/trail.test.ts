// The clone of an auditor: made from a remote, kept current, and never ahead of its verified head.

import { existsSync, readdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  type AuditOptions,
  auditStore,
  generateIdentity,
  type Identity,
  type Role,
} from '../../../../src/index.ts'
import { joinTrail, syncTrail } from '../../../../src/store/audit/trail.ts'
import {
  alone,
  admit,
  bareRemote,
  checkWithGit,
  type Clone,
  copyOf,
  firstClone,
  headOf,
  idOf,
  joinClone,
  sync,
  syncAll,
  trusting,
} from '../../../support/clones.ts'
import {
  branchOf,
  create,
  leak,
  moveBranch,
  redact,
  showClone,
} from '../../../support/hostile-remotes.ts'
import { author } from '../../../support/stores.ts'
import { git, temporaryDirectory } from '../../../support/temporary.ts'

interface Audited {
  readonly writer: Clone
  readonly remote: string
  readonly auditor: AuditOptions
}

/** A store on a remote, and who may audit it, where nothing is yet. */
async function audited(role: Role = 'auditor'): Promise<Audited> {
  const remote = bareRemote()
  const writer = await firstClone(remote)
  const identity = await admit(writer, role)
  await create(writer, '/notes.md')
  await sync(writer)
  return { writer, remote, auditor: placesFor(identity, writer) }
}

function placesFor(identity: Identity, { store: { id: storeId } }: Clone): AuditOptions {
  const root = temporaryDirectory()
  return { directory: `${root}/clone`, stateDirectory: `${root}/state`, identity, storeId }
}

function mainOf({ directory }: AuditOptions): string {
  return git(['rev-parse', 'main', 'refs/remotes/origin/main'], directory)
}

describe('an auditor that joins', () => {
  test(
    'has a valid clone with a verified trail, and keeps it current',
    { tags: 'slow' },
    async () => {
      const { writer, remote, auditor } = await audited()
      const joined = await joinTrail({ ...auditor, ...trusting, url: remote })
      expect(joined).toMatchObject({ role: 'auditor', head: await headOf(writer), memories: 1 })
      expect(await syncTrail(auditor)).toMatchObject({ received: { commits: 0, bytes: 0 } })
      await create(writer, '/more.md')
      const { headFingerprint } = await sync(writer)
      const report = await syncTrail(auditor)
      const head = await headOf(writer)
      expect(report).toMatchObject({
        remote: 'origin',
        received: { commits: 1 },
        head,
        headFingerprint,
      })
      expect(mainOf(auditor)).toBe(`${head}\n${head}\n`)
      checkWithGit(auditor.directory)
      expect(await auditStore(auditor)).toMatchObject({ head, memories: 2 })
    },
  )

  test('erases versions that were redacted elsewhere', { tags: 'slow' }, async () => {
    const { writer, remote, auditor } = await audited()
    const versionId = await leak(writer)
    await sync(writer)
    const before = git(['rev-list', '--objects', '--no-object-names', 'main'], remote)
    await joinTrail({ ...auditor, ...trusting, url: remote })
    await redact(writer, versionId)
    await sync(writer)
    expect(await syncTrail(auditor)).toMatchObject({ erased: 1 })
    const stored = git(
      ['cat-file', '--batch-check=%(objectname)', '--batch-all-objects'],
      auditor.directory,
    )
    const shown = git(['rev-list', '--objects', '--no-object-names', 'main'], remote)
    const sorted = (text: string): string[] => text.trim().split('\n').toSorted()
    expect(sorted(stored)).toEqual(sorted(shown))
    expect(sorted(stored)).not.toEqual(sorted(before))
    expect((await auditStore(auditor)).head).toBe(await headOf(writer))
  })

  test('accepts nothing older than it has seen', { tags: 'slow' }, async () => {
    const { writer, remote, auditor } = await audited()
    const old = branchOf(remote)
    await create(writer, '/more.md')
    await sync(writer)
    await joinTrail({ ...auditor, ...trusting, url: remote })
    const head = mainOf(auditor)
    moveBranch(remote, old)
    await expect(syncTrail(auditor)).rejects.toMatchObject({ code: 'rolled_back' })
    git(['update-ref', '-d', 'refs/heads/main'], remote)
    await expect(syncTrail(auditor)).rejects.toMatchObject({ code: 'rolled_back' })
    expect(mainOf(auditor)).toBe(head)
    await auditStore(auditor)
  })

  test('treats a clone made with git as seen', { tags: 'slow' }, async () => {
    const { writer, remote, auditor } = await audited()
    const old = branchOf(remote)
    await create(writer, '/more.md')
    await sync(writer)
    git(['clone', '--quiet', '--bare', remote, auditor.directory], '/')
    const head = branchOf(remote)
    moveBranch(remote, old)
    await expect(syncTrail(auditor)).rejects.toMatchObject({ code: 'rolled_back' })
    expect(branchOf(auditor.directory)).toBe(head)
  })

  test(
    "follows others that drop a removed device's writes, once accepted",
    { tags: 'slow' },
    async () => {
      const { writer, remote, auditor } = await audited()
      const other = await joinClone(writer, remote)
      await sync(writer)
      await writer.store.as(author).devices.remove([idOf(other)], alone)
      await create(other, '/late.md')
      await sync(other)
      await joinTrail({ ...auditor, ...trusting, url: remote })
      const late = branchOf(remote)
      await sync(writer)
      await expect(syncTrail(auditor)).rejects.toMatchObject({ code: 'rolled_back' })
      const accepting = { ...auditor, acceptRolledBack: true }
      expect(await syncTrail(accepting)).toMatchObject({ head: await headOf(writer) })
      expect(await auditStore(auditor)).toMatchObject({ head: await headOf(writer) })
      moveBranch(remote, late)
      await expect(syncTrail(auditor)).rejects.toMatchObject({ code: 'rolled_back' })
    },
  )

  test("keeps an owner's changes even if a later writer is removed", { tags: 'slow' }, async () => {
    const { writer, remote, auditor } = await audited()
    const removed = await joinClone(writer, remote)
    await sync(writer)
    const stale = await copyOf(writer)
    await create(writer, '/misdeed.md')
    await syncAll([writer, removed])
    await create(removed, '/after.md')
    await sync(removed)
    await joinTrail({ ...auditor, ...trusting, url: remote })
    await stale.store.as(author).devices.remove([idOf(removed)], alone)
    await showClone(remote, stale)
    await expect(syncTrail(auditor)).rejects.toMatchObject({ code: 'rolled_back' })
  })

  test(
    'does not accept a head from before the newest writer was added',
    { tags: 'slow' },
    async () => {
      const { writer, remote, auditor } = await audited()
      const old = branchOf(remote)
      const other = await joinClone(writer, remote)
      await create(other, '/new.md')
      await sync(other)
      await joinTrail({ ...auditor, ...trusting, url: remote })
      moveBranch(remote, old)
      await expect(syncTrail(auditor)).rejects.toMatchObject({ code: 'rolled_back' })
    },
  )

  test('accepts no other store, and nothing after its removal', { tags: 'slow' }, async () => {
    const { writer, remote, auditor } = await audited()
    await joinTrail({ ...auditor, ...trusting, url: remote })
    const head = mainOf(auditor)
    const other = await audited()
    git(['fetch', '--quiet', other.remote, '+main:refs/other/main'], remote)
    const ours = branchOf(remote)
    moveBranch(remote, branchOf(other.remote))
    await expect(syncTrail(auditor)).rejects.toMatchObject({ code: 'store_id_mismatch' })
    moveBranch(remote, ours)
    const [, device] = await writer.store.devices.list()
    await writer.store.as(author).devices.remove([device?.deviceId ?? ''], alone)
    await sync(writer)
    await expect(syncTrail(auditor)).rejects.toMatchObject({ code: 'wrong_key' })
    expect(mainOf(auditor)).toBe(head)
  })

  test('as a device of another role sees the same', { tags: 'slow' }, async () => {
    const { remote, auditor } = await audited('reader')
    expect(await joinTrail({ ...auditor, ...trusting, url: remote })).toMatchObject({
      role: 'reader',
    })
  })

  test('without having been added leaves nothing behind', async () => {
    const { writer, remote } = await audited()
    const stranger = placesFor(await generateIdentity(), writer)
    const joining = joinTrail({ ...stranger, ...trusting, url: remote })
    await expect(joining).rejects.toMatchObject({ code: 'wrong_key' })
    expect(existsSync(stranger.directory)).toBe(false)
    expect(readdirSync(dirname(stranger.directory))).toEqual([])
  })
})

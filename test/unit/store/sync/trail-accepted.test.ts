// How an auditor continues after others have dropped commits that it had verified: once its user
// accepts the loss.

import { rmSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { auditStore } from '../../../../src/index.ts'
import { joinTrail, syncTrail, type TrailOptions } from '../../../../src/store/audit/trail.ts'
import {
  alone,
  admit,
  bareRemote,
  checkWithGit,
  type Clone,
  firstClone,
  headOf,
  idOf,
  joinClone,
  sync,
  syncAll,
  trusting,
} from '../../../support/clones.ts'
import { writeForged } from '../../../support/forged-disk.ts'
import {
  branchOf,
  create,
  expectRefused,
  leak,
  moveBranch,
  redact,
  repair,
} from '../../../support/hostile-remotes.ts'
import { nextRow, standardHistory } from '../../../support/standard-forge.ts'
import { author } from '../../../support/stores.ts'
import { copyDirectory, git, temporaryDirectory } from '../../../support/temporary.ts'

function placesFor(identity: TrailOptions['identity'], storeId: string): TrailOptions {
  const root = temporaryDirectory()
  return { directory: `${root}/clone`, stateDirectory: `${root}/state`, identity, storeId }
}

async function joinedAuditor(owner: Clone, remote: string): Promise<TrailOptions> {
  const identity = await admit(owner, 'auditor')
  await sync(owner)
  const auditor = placesFor(identity, owner.store.id)
  await joinTrail({ ...auditor, ...trusting, url: remote })
  return auditor
}

/** Refused until that is accepted, and from then on as ever. */
async function expectAccepted(auditor: TrailOptions, member: Clone): Promise<void> {
  await expect(syncTrail(auditor)).rejects.toMatchObject({ code: 'rolled_back' })
  const head = await headOf(member)
  expect(await syncTrail({ ...auditor, acceptRolledBack: true })).toMatchObject({ head, erased: 0 })
  await create(member, '/after.md')
  await sync(member)
  expect(await syncTrail(auditor)).toMatchObject({ received: { commits: 1 } })
  expect((await auditStore(auditor)).head).toBe(await headOf(member))
  checkWithGit(auditor.directory)
}

/** A forgery that only members can see is adopted by an auditor and replaced by members. */
async function replacedForgery(): Promise<{ auditor: TrailOptions; member: Clone; url: string }> {
  const { forge, writer } = await standardHistory('replaced forgery')
  const identity = await forge.join('auditor')
  const url = `${temporaryDirectory()}/remote.git`
  await writeForged(forge, url)
  const founder = { directory: '', stateDirectory: '', recoveryKey: '', identity: forge.founder }
  const member = await joinClone({ place: founder }, url, { identity: forge.founder })
  const auditor = placesFor(identity, member.store.id)
  await joinTrail({ ...auditor, ...trusting, url })
  forge.change([nextRow], { author: writer, blob: (blob) => ({ ...blob, created: 5 }) })
  await writeForged(forge, url)
  await expectRefused(member, ['memory_mismatch', 'envelope_salt'])
  await syncTrail(auditor)
  await repair(member)
  await create(member, '/goes-on.md')
  await sync(member)
  return { auditor, member, url }
}

describe('an auditor continues without it once that is accepted', () => {
  test(
    'a forged commit that only members could see, and have replaced',
    { tags: 'slow' },
    async () => {
      const { auditor, member } = await replacedForgery()
      await expectAccepted(auditor, member)
    },
  )

  test('a forged commit, by joining again', { tags: 'slow' }, async () => {
    const { auditor, member, url } = await replacedForgery()
    const anew = { ...auditor, directory: `${temporaryDirectory()}/anew`, url }
    await expect(joinTrail(anew)).rejects.toMatchObject({ code: 'rolled_back' })
    const head = await headOf(member)
    expect(await joinTrail({ ...anew, acceptRolledBack: true })).toMatchObject({ head })
    expect(await syncTrail({ ...auditor, directory: anew.directory })).toMatchObject({ head })
  })

  test('its unsent writes from before it became an auditor', { tags: 'slow' }, async () => {
    const remote = bareRemote()
    const owner = await firstClone(remote)
    await sync(owner)
    const other = await joinClone(owner, remote)
    await syncAll([owner, other])
    await create(other, '/unsent.md')
    await other.store.close()
    await owner.store.as(author).devices.changeRole(idOf(other), 'auditor', alone)
    await sync(owner)
    const { recoveryKey: _, ...auditor } = other.place
    await expectAccepted(auditor, owner)
  })

  test(
    'commits that a host showed before it was rolled back and moved on',
    { tags: 'slow' },
    async () => {
      const remote = bareRemote()
      const owner = await firstClone(remote)
      await sync(owner)
      const lost = await joinClone(owner, remote)
      await sync(owner)
      const before = branchOf(remote)
      const identity = await admit(owner, 'auditor')
      await syncAll([owner, lost])
      const auditor = placesFor(identity, owner.store.id)
      const joined = branchOf(remote)
      expect(joined).not.toBe(before)
      await joinTrail({ ...auditor, ...trusting, url: remote })
      await create(lost, '/lost.md')
      await sync(lost)
      await syncTrail(auditor)
      moveBranch(remote, joined)
      await create(owner, '/more.md')
      await sync(owner)
      await expectAccepted(auditor, owner)
    },
  )
})

test(
  'a restored clone notices a remote that was rolled back as far',
  { tags: 'slow' },
  async () => {
    const remote = bareRemote()
    const owner = await firstClone(remote)
    const auditor = await joinedAuditor(owner, remote)
    const old = branchOf(remote)
    const backup = `${temporaryDirectory()}/backup`
    copyDirectory(auditor.directory, backup)
    await create(owner, '/more.md')
    await sync(owner)
    await syncTrail(auditor)
    rmSync(auditor.directory, { recursive: true })
    copyDirectory(backup, auditor.directory)
    const newest = branchOf(remote)
    moveBranch(remote, old)
    await expect(syncTrail(auditor)).rejects.toMatchObject({ code: 'rolled_back' })
    // Nor was it lost in that.
    await expect(auditStore(auditor)).rejects.toMatchObject({ code: 'rolled_back' })
    moveBranch(remote, newest)
    expect(await syncTrail(auditor)).toMatchObject({ received: { commits: 1 } })
    await auditStore(auditor)
  },
)

test(
  'redacted versions are erased even if other commits are left out',
  { tags: 'slow' },
  async () => {
    const remote = bareRemote()
    const owner = await firstClone(remote)
    const versionId = await leak(owner)
    await sync(owner)
    const leaked = blobAt(remote, 'main~1')
    const removed = await joinClone(owner, remote)
    await syncAll([owner, removed])
    const identity = await admit(owner, 'auditor')
    await syncAll([owner, removed])
    await owner.store.as(author).devices.remove([idOf(removed)], alone)
    await create(removed, '/late.md')
    await sync(removed)
    const auditor = placesFor(identity, owner.store.id)
    await joinTrail({ ...auditor, ...trusting, url: remote })
    const before = objectsIn(auditor.directory)
    await redact(owner, versionId)
    await sync(owner)
    const accepting = { ...auditor, acceptRolledBack: true }
    expect(await syncTrail(accepting)).toMatchObject({ head: await headOf(owner), erased: 1 })
    const after = objectsIn(auditor.directory)
    expect(before.has(leaked)).toBe(true)
    expect(after.has(leaked)).toBe(false)
    checkWithGit(auditor.directory)
  },
)

/** The one memory of a commit. */
function blobAt(directory: string, commit: string): string {
  return git(['ls-tree', '-r', '--format=%(objectname)', commit, 'm/'], directory).trim()
}

function objectsIn(directory: string): ReadonlySet<string> {
  const format = '--batch-check=%(objectname)'
  return new Set(git(['cat-file', format, '--batch-all-objects'], directory).split('\n'))
}

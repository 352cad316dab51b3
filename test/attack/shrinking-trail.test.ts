// T44: records that an auditor has verified do not vanish from its trail silently, even if the
// rules of the format leave them out: they are kept, listed, and must be accepted. FORMAT §7.4, §9.

import { describe, expect, test } from 'vitest'
import { type Audit, auditStore, joinTrail, syncTrail } from '../../src/index.ts'
import { worldsOf } from '../support/clone-templates.ts'
import {
  alone,
  admit,
  bareRemote,
  firstClone,
  headOf,
  idOf,
  joinClone,
  sync,
  trusting,
} from '../support/clones.ts'
import { branchOf, create, moveBranch, redact } from '../support/hostile-remotes.ts'
import { author } from '../support/stores.ts'
import { git, temporaryDirectory } from '../support/temporary.ts'

const LATE = 5

/** An owner who has not fetched what B wrote removes it; the auditor has. */
async function shrunk() {
  const remote = bareRemote()
  const owner = await firstClone(remote)
  await create(owner, '/kept.md')
  await sync(owner)
  const b = await joinClone(owner, remote)
  await sync(owner)
  const identity = await admit(owner, 'auditor')
  await sync(owner)
  await sync(b)
  const root = temporaryDirectory()
  const places = { directory: `${root}/clone`, stateDirectory: `${root}/state`, identity }
  await joinTrail({ ...places, ...trusting, url: `${remote}#${owner.store.id}` })
  for (let count = 0; count < LATE; count += 1) await create(b, `/late-${count}.md`)
  await sync(b)
  await syncTrail(places)
  const before = await auditStore(places)
  await owner.store.as(author).devices.remove([idOf(b)], alone)
  const { late } = await sync(owner)
  return { owner, b, remote, places, before, late }
}

function recordsOf({ leftOut }: Pick<Audit, 'leftOut'>): ReadonlySet<string> {
  return new Set(leftOut.map(({ record, entry }) => entry?.record ?? record))
}

describe('T44: a record that an owner drops without having fetched it', () => {
  test('remains in the trail of an auditor until that is accepted', { tags: 'slow' }, async () => {
    const { b, remote, places, before, late, owner } = await shrunk()
    expect(late).toHaveLength(LATE)
    const head = git(['rev-parse', 'main'], places.directory).trim()
    await expect(syncTrail(places)).rejects.toMatchObject({ code: 'rolled_back' })
    await expect(syncTrail(places)).rejects.toThrow(/leaves out 5 of the records/)
    expect((await auditStore(places)).entries).toEqual(before.entries)

    const report = await syncTrail({ ...places, acceptRolledBack: true })
    expect(report.head).toBe(branchOf(remote))
    expect(report.late.map(({ deviceId, kind }) => [deviceId, kind])).toEqual(
      Array.from({ length: LATE }, () => [idOf(b), 'change']),
    )
    const after = await auditStore(places)
    const leftOut = after.leftOut.map(({ entry }) => entry)
    expect(leftOut).toEqual(before.entries.slice(-LATE))
    expect(after.leftOut.every(({ why }) => why === 'late')).toBe(true)
    expect(git(['cat-file', '-t', head], places.directory).trim()).toBe('commit')
    expect(git(['for-each-ref', '--contains', head], places.directory)).toContain('left-out')

    await create(owner, '/more.md')
    await sync(owner)
    expect(await syncTrail(places)).toMatchObject({ late: [], received: { commits: 1 } })
    expect((await auditStore(places)).leftOut).toEqual(after.leftOut)
  })

  test('remains listed after a redaction has erased the commits', { tags: 'slow' }, async () => {
    const { owner, places } = await shrunk()
    await syncTrail({ ...places, acceptRolledBack: true })
    const { leftOut } = await auditStore(places)
    await owner.store.as(author).apply([{ type: 'edit', path: '/kept.md', edit: () => 'new' }])
    const { data } = await owner.store.history.versions({ path: '/kept.md', order: 'oldest' })
    await redact(owner, data[0]?.versionId ?? '')
    await sync(owner)
    expect(await syncTrail(places)).toMatchObject({ erased: 1 })
    expect((await auditStore(places)).leftOut).toEqual(leftOut)
    expect(leftOut).toHaveLength(LATE)
  })

  test('is listed once, whichever commit a redaction turns it into', { tags: 'slow' }, async () => {
    const { owner, b, remote, places } = await shrunk()
    const accepting = { ...places, acceptRolledBack: true }
    await syncTrail(accepting)
    const { leftOut } = await auditStore(places)
    // In another clone the same records get other commits, and the host shows that one for a while.
    await b.store.as(author).apply([{ type: 'edit', path: '/kept.md', edit: () => 'new' }])
    const { data } = await b.store.history.versions({ path: '/kept.md', order: 'oldest' })
    await redact(b, data[0]?.versionId ?? '')
    await b.store.maintenance.checkpoint()
    git(['push', '--quiet', '--force', remote, 'main'], b.place.directory)
    await syncTrail(accepting)
    const there = await auditStore(places)
    const renamed = there.entries.filter(({ record }) => recordsOf({ leftOut }).has(record))
    expect(renamed).toHaveLength(LATE)
    expect(renamed.map(({ commit }) => commit)).not.toEqual(leftOut.map(({ commit }) => commit))
    expect(there.leftOut.filter(({ record }) => recordsOf({ leftOut }).has(record))).toEqual([])
    moveBranch(remote, await headOf(owner))
    await syncTrail(accepting)
    const after = await auditStore(places)
    expect(after.leftOut.slice(0, LATE)).toEqual(leftOut)
    expect(recordsOf(after).size).toBe(after.leftOut.length)
  })
})

const three = worldsOf(async (url) => {
  const a = await firstClone(url)
  await create(a, '/kept.md')
  await sync(a)
  const b = await joinClone(a, url)
  const c = await joinClone(a, url)
  for (const one of [a, b, c]) await sync(one)
  await a.store.as(author).devices.remove([idOf(b)], alone)
  return { a, b, c }
})

test('T44: a member that had taken it over lists it too', { tags: 'slow' }, async () => {
  const { a, b, c } = await three()
  await create(b, '/late.md')
  await b.store.as(author).settings.update({ name: 'late' })
  await sync(b)
  await sync(c)
  await sync(a)
  const { late } = await sync(c)
  expect(late.map(({ deviceId, kind }) => [deviceId, kind])).toEqual([
    [idOf(b), 'change'],
    [idOf(b), 'settings'],
  ])
})

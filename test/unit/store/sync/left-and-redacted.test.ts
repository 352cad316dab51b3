// Late commits that a sync drops, if a redaction in the same sync changes the ids of older commits
// (FORMAT §7.4, §9): nothing but late commits is dropped.

import { expect, test } from 'vitest'
import { systemRandom } from '../../../../src/crypto/random.ts'
import { generateIdentity } from '../../../../src/index.ts'
import { RemoteStateFile } from '../../../../src/store/local/remote-state-file.ts'
import { worldsOf } from '../../../support/clone-templates.ts'
import { alone, firstClone, idOf, joinClone, sync, syncAll } from '../../../support/clones.ts'
import { failureOf } from '../../../support/faulty-remotes.ts'
import { branchOf, copyRemote, create, leak, redact } from '../../../support/hostile-remotes.ts'
import { ownDirectory } from '../../../support/own-files.ts'
import { author } from '../../../support/stores.ts'
import { git, temporaryDirectory } from '../../../support/temporary.ts'

const worlds = worldsOf(async (url) => {
  const owner = await firstClone(url)
  await leak(owner)
  await sync(owner)
  const [clone, removed] = [await joinClone(owner, url), await joinClone(owner, url)]
  await syncAll([owner, clone, removed])
  return { owner, clone, removed }
})

test(
  'another remote that is rolled back below the kept commits is refused',
  { tags: 'slow' },
  async () => {
    const { owner, clone, removed, remote } = await worlds()
    const old = branchOf(remote)
    for (const path of ['/k1.md', '/k2.md']) await create(clone, path)
    await syncAll([clone, owner, removed])
    await owner.store.as(author).devices.remove([idOf(removed)], alone)
    // More of them than what the owner does, or the owner's would be the newer side.
    for (const path of ['/late.md', '/later.md', '/latest.md']) await create(removed, path)
    await sync(removed)
    await sync(clone)
    const second = copyRemote(remote)
    await clone.store.remotes.add('second', second)
    await clone.store.as(author).sync({ remote: 'second' })
    const { data: versions } = await owner.store.history.versions({
      path: '/key.txt',
      order: 'oldest',
    })
    await redact(owner, versions[0]?.versionId ?? '')
    await sync(owner)
    await clone.store.as(author).sync({ remote: 'origin' })
    await clone.store.maintenance.checkpoint()
    git(['update-ref', 'refs/heads/main', old], second)
    const failure = await failureOf(clone.store.as(author).sync({ remote: 'second', only: 'pull' }))
    expect(failure).toMatchObject({ code: 'rolled_back' })
  },
)

test('only a drop of commits that a remote has shown lowers its required head', async () => {
  const identity = await generateIdentity()
  const owner = { storeId: 'a'.repeat(32), identity, random: systemRandom }
  const seen = new RemoteStateFile(
    owner,
    ownDirectory({ remotes: `${temporaryDirectory()}/x.remotes` }),
  )
  const at = (height: number): { oid: string; height: number; record: Uint8Array } => {
    const record = new Uint8Array(32)
    new DataView(record.buffer).setUint32(0, height)
    return { oid: height.toString(16).padStart(40, '0'), height, record }
  }
  await seen.noteLeft({ records: [at(11).record], common: at(10), head: at(12) })
  await seen.note('second', 'u', at(1001))
  await seen.noteLeft({ records: [at(1001).record], common: at(1000), head: at(1002) })
  expect(await seen.find('second', 'u')).toMatchObject({ height: 1000 })
})

test('settings that were dropped as late are not reported as kept', { tags: 'slow' }, async () => {
  const { owner, clone, removed } = await worlds()
  await owner.store.as(author).settings.update({ name: 'owner' })
  await owner.store.as(author).devices.remove([idOf(removed)], alone)
  for (const path of ['/l1.md', '/l2.md', '/l3.md', '/l4.md']) await create(removed, path)
  await removed.store.as(author).settings.update({ name: 'late' })
  await sync(removed)
  await sync(clone)
  expect((await clone.store.status()).settings.name).toBe('late')
  await sync(owner)
  expect(await sync(clone)).toMatchObject({ settings: 'replaced' })
  expect((await clone.store.status()).settings.name).toBe('owner')
})

// T30: a device whose directory, state and identity were copied, so that two machines write as one,
// is detected at the first merge of both sides: nothing is lost, the device cannot write any more,
// and the others go on. FORMAT §8.2.

import { describe, expect, test } from 'vitest'
import { alone, type Clone, copyOf, headOf, joinClone, sync, syncAll } from '../support/clones.ts'
import { failureOf } from '../support/faulty-remotes.ts'
import { create, edit, expectInStep, pairsOfClones } from '../support/hostile-remotes.ts'
import { author, contentsOf } from '../support/stores.ts'

const pairOfClones = pairsOfClones()

interface Copied {
  readonly a: Clone
  readonly b: Clone
  /** B once more, on another machine. */
  readonly copy: Clone
  readonly remote: string
  /** `dev_…` of both. */
  readonly deviceId: string
}

/** Both machines have written and one of them has synced. */
async function copied(): Promise<Copied> {
  const { a, b, remote } = await pairOfClones()
  await b.store.maintenance.checkpoint()
  const copy = await copyOf(b)
  await create(b, '/here.md')
  await create(copy, '/there.md')
  await edit(copy, '/notes.md', 'changed there\n')
  await sync(b)
  const devices = await b.store.devices.list()
  const deviceId = devices.find(({ isThis }) => isThis)?.deviceId ?? ''
  return { a, b, copy, remote, deviceId }
}

/** A third device sees both sides: the copy's own sync cannot merge them. */
async function mergeElsewhere({ a, copy }: Copied): Promise<Awaited<ReturnType<typeof sync>>> {
  await sync(a)
  const mirror = copy.place.directory
  await copy.store.close()
  await a.store.remotes.add('copy', mirror)
  const report = await a.store.as(author).sync({ remote: 'copy', only: 'pull' })
  await a.store.remotes.remove('copy')
  await sync(a)
  return report
}

describe('T30: a device that writes from two machines', () => {
  test('cannot merge its two sides itself, and keeps its writes', { tags: 'slow' }, async () => {
    const { copy } = await copied()
    const head = await headOf(copy)
    expect(await failureOf(sync(copy))).toMatchObject({ code: 'device_forked' })
    expect(await headOf(copy)).toBe(head)
    expect(await contentsOf(copy.store)).toMatchObject({ '/there.md': '/there.md' })
    await copy.store.maintenance.verify()
  })

  test(
    'is reported by the device that merges both sides, and both remain',
    { tags: 'slow' },
    async () => {
      const world = await copied()
      const { a, deviceId } = world
      const report = await mergeElsewhere(world)
      expect(report.forkedDevices).toEqual([deviceId])
      expect(await contentsOf(a.store)).toMatchObject({
        '/here.md': '/here.md',
        '/there.md': '/there.md',
        '/notes.md': 'changed there\n',
      })
      const devices = await a.store.devices.list()
      expect(devices.filter(({ isForked }) => isForked).map((one) => one.deviceId)).toEqual([
        deviceId,
      ])
      await a.store.maintenance.verify()
    },
  )

  test(
    'stops writing once it knows, and every clone refuses its records',
    { tags: 'slow' },
    async () => {
      const world = await copied()
      const { a, b, deviceId, remote } = world
      await mergeElsewhere(world)
      await create(b, '/unknowing.md')
      // Its own side of a merge with what it does not know yet would be one more of its records.
      expect(await failureOf(sync(b))).toMatchObject({ code: 'device_forked' })
      await b.store.maintenance.verify()
      const c = await joinClone(a, remote)
      const { forkedDevices } = await sync(c)
      expect(forkedDevices).toEqual([deviceId])
      await create(c, '/others-go-on.md')
      await syncAll([c, a])
      await expectInStep(remote, [a, c])
    },
  )

  test(
    'can still read and refuses to write after it has adopted the merge',
    { tags: 'slow' },
    async () => {
      const { a, b, copy, remote, ...world } = await copied()
      await mergeElsewhere({ a, b, copy, remote, ...world })
      const report = await sync(b)
      expect(report.forkedDevices).toEqual([world.deviceId])
      expect(await contentsOf(b.store)).toMatchObject({ '/there.md': '/there.md' })
      const attempt = b.store.as(author).apply([{ type: 'delete', path: '/notes.md' }])
      expect(await failureOf(attempt)).toMatchObject({ code: 'device_forked' })
      await expectInStep(remote, [b])
    },
  )

  test('is replaced by a new identity, and removed', { tags: 'slow' }, async () => {
    const world = await copied()
    const { a, remote, deviceId } = world
    await mergeElsewhere(world)
    await a.store.as(author).devices.remove([deviceId], alone)
    await sync(a)
    const again = await joinClone(a, remote)
    await create(again, '/as-another.md')
    await syncAll([again, a])
    await expectInStep(remote, [a, again])
  })
})

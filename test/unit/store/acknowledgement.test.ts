// Which devices have accepted a redaction, on real clones: a device shows it by writing on top of
// it, a new device never had the erased text, and a device that writes nothing is still pending.

import { describe, expect, test } from 'vitest'
import { formatId } from '../../../src/format/id.ts'
import type { Device, Redaction } from '../../../src/index.ts'
import { worldsOf } from '../../support/clone-templates.ts'
import {
  alone,
  admit,
  type Clone,
  firstClone,
  idOf,
  joinClone,
  put,
  sync,
  syncAll,
} from '../../support/clones.ts'
import { author } from '../../support/stores.ts'

async function redactOldest({ store }: Clone, path: string): Promise<Redaction> {
  const { data: versions } = await store.history.versions({ path, order: 'oldest' })
  const select = { versionIds: versions.slice(0, 1).map(({ versionId }) => versionId) }
  const request = { select, reason: 'leaked_secret', current: 'delete' } as const
  return store.as({ actor: author.actor }).redact(request)
}

async function deviceOf(asking: Clone, asked: string): Promise<Device | undefined> {
  const devices = await asking.store.devices.list()
  return devices.find(({ deviceId }) => deviceId === asked)
}

const stores = worldsOf(async (url) => {
  const first = await firstClone(url)
  await put(first, '/secret.md')
  await sync(first)
  const second = await joinClone(first, url)
  await put(second, '/other.md')
  await syncAll([second, first])
  return { first, second }
})

describe('after a redaction', () => {
  test(
    'every other active device is pending, with the time when it was last seen',
    { tags: 'slow' },
    async () => {
      const { first, second } = await stores()
      const reader = await admit(first, 'reader')
      const gone = await admit(first, 'writer')
      await first.store.as(author).devices.remove([formatId('device', gone.deviceId)], alone)
      const { pendingDevices } = await redactOldest(first, '/secret.md')
      const { lastRecord } = (await deviceOf(first, idOf(second))) ?? {}
      expect(pendingDevices).toHaveLength(2)
      expect(pendingDevices).toContainEqual({
        deviceId: idOf(second),
        name: '',
        role: expect.stringMatching(/owner|writer/),
        lastRecord,
        canAcknowledge: true,
      })
      expect(pendingDevices).toContainEqual({
        deviceId: formatId('device', reader.deviceId),
        name: '',
        role: 'reader',
        lastRecord: undefined,
        canAcknowledge: false,
      })
      expect((await redactOldest(first, '/secret.md')).pendingDevices).toEqual([])
    },
  )

  test(
    'a device has acknowledged it once it has written on top of it',
    { tags: 'slow' },
    async () => {
      const { first, second } = await stores()
      await redactOldest(first, '/secret.md')
      const [redacted] = (await deviceOf(first, idOf(second)))?.unacknowledged ?? []
      expect(redacted?.commit).toBe((await first.store.status()).head)
      await put(second, '/apart.md')
      await sync(first)
      const { merge, pendingDevices } = await sync(second)
      expect(merge).toBeDefined()
      // Its own merge acknowledges it, and so does being the redacting device.
      expect(pendingDevices).toEqual([])
      expect((await deviceOf(first, idOf(second)))?.unacknowledged).toHaveLength(1)
      await sync(first)
      expect((await deviceOf(first, idOf(second)))?.unacknowledged).toEqual([])
      expect((await deviceOf(second, idOf(first)))?.unacknowledged).toEqual([])
    },
  )

  test('a sync that accepts it reports the devices that have not', { tags: 'slow' }, async () => {
    const { first, second, remote } = await stores()
    const third = await joinClone(first, remote)
    await syncAll([third, first, second])
    await redactOldest(first, '/secret.md')
    await sync(first)
    const { erased, pendingDevices } = await sync(second)
    expect(erased).toBeGreaterThan(0)
    expect(pendingDevices.map(({ deviceId }) => deviceId)).toEqual([idOf(third)])
    expect((await sync(second)).pendingDevices).toEqual([])
  })

  test('a device that is added later never had the erased text', { tags: 'slow' }, async () => {
    const { first, remote } = await stores()
    await redactOldest(first, '/secret.md')
    const reader = await admit(first, 'reader')
    await sync(first)
    const third = await joinClone(first, remote)
    await syncAll([third, first])
    for (const deviceId of [formatId('device', reader.deviceId), idOf(third)]) {
      expect((await deviceOf(first, deviceId))?.unacknowledged).toEqual([])
    }
  })

  test('several redactions are reported one by one, oldest first', { tags: 'slow' }, async () => {
    const { first, second } = await stores()
    await redactOldest(first, '/secret.md')
    await sync(first)
    await sync(second)
    await put(second, '/shows.md')
    await syncAll([second, first])
    await redactOldest(first, '/other.md')
    await redactOldest(first, '/shows.md')
    const { unacknowledged = [] } = (await deviceOf(first, idOf(second))) ?? {}
    expect(unacknowledged).toHaveLength(2)
    const times = unacknowledged.map(({ time }) => time)
    expect(times).toEqual(times.toSorted((a, b) => a - b))
    expect((await deviceOf(first, idOf(first)))?.unacknowledged).toEqual([])
  })
})

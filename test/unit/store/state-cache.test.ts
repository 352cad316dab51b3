// The snapshot that a device keeps between runs: opening continues from it, and the newest one of
// several processes stays.

import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { type Disk, systemDisk } from '../../../src/disk/disk.ts'
import { author, newStore, reopen } from '../../support/stores.ts'

test(
  'opening what a killed process has written reads no long history',
  { tags: 'slow' },
  async () => {
    /** Bytes that are read to open a store of `count` commits and three that no cache has. */
    async function bytesRead(count: number): Promise<number> {
      const made = await newStore()
      for (let n = 0; n < count; n += 1) {
        await made.store.as(author).apply([{ type: 'create', path: `/${n}`, content: 'x\n' }])
        await made.store.as(author).apply([{ type: 'delete', path: `/${n}` }])
      }
      await made.store.close()
      const alive = await reopen(made.place)
      for (const path of ['/a', '/b', '/c']) {
        await alive.as(author).apply([{ type: 'create', path, content: 'x\n' }])
      }
      let bytes = 0
      const disk: Disk = {
        ...systemDisk,
        read: (fd, into, position) => {
          const length = systemDisk.read(fd, into, position)
          bytes += length
          return length
        },
      }
      const opened = await reopen(made.place, { disk })
      expect((await opened.read('/c'))?.content).toBe('x\n')
      await alive.close()
      await opened.close()
      return bytes
    }
    const [few, many] = [await bytesRead(10), await bytesRead(400)]
    expect(many).toBeLessThan(3 * few)
  },
)

test('a process that is behind does not overwrite a newer snapshot', async () => {
  const { store: behind, place } = await newStore()
  await behind.as(author).apply([{ type: 'create', path: '/a', content: 'x\n' }])
  const ahead = await reopen(place)
  for (const path of ['/b', '/c', '/d']) {
    await ahead.as(author).apply([{ type: 'create', path, content: 'x\n' }])
  }
  await ahead.close()
  const [device = ''] = readdirSync(`${place.directory}/gitlocket/cache`)
  const state = `${place.directory}/gitlocket/cache/${device}/state`
  const written = readFileSync(state)
  await behind.close()
  expect(readFileSync(state)).toEqual(written)
  const again = await reopen(place)
  expect(await again.maintenance.verify()).toMatchObject({ commits: 5, versions: 4 })
  await again.close()
})

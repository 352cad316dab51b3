// A redaction that fails while it is noted which commits remotes have as they were: the store is as
// it was, in RAM too, and the next attempt works. Every operation on that file is struck.

import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { FaultyDisk } from '../support/faulty-disk.ts'
import { agent, oldLeak, open, placeIn, prepareSmall, redact } from '../support/redaction-places.ts'
import { contentsOf } from '../support/stores.ts'
import { copyDirectory, sharedDirectory } from '../support/temporary.ts'

const root = sharedDirectory()

test.each(['storage_full', 'storage_failed'] as const)(
  '%s is taken back',
  { tags: 'slow' },
  async (code) => {
    const template = mkdtempSync(join(root, 'template-'))
    await prepareSmall(placeIn(template))
    const copied = (): string => {
      const copy = mkdtempSync(join(root, 'copy-'))
      copyDirectory(template, copy)
      return copy
    }
    const dry = new FaultyDisk()
    const whole = await open(placeIn(copied()), dry)
    await redact(whole, oldLeak)
    await whole.close()
    const noted = [...dry.log.keys()].filter((index) => dry.log[index]?.includes('.remotes'))
    expect(noted.length).toBeGreaterThanOrEqual(4)
    for (const index of noted) {
      const disk = new FaultyDisk({ kind: 'error', at: index + 1, times: 1, code })
      const store = await open(placeIn(copied()), disk)
      const before = await contentsOf(store)
      await expect(redact(store, oldLeak), dry.log[index]).rejects.toMatchObject({ code })
      expect(await contentsOf(store)).toEqual(before)
      await store.as(agent).apply([{ type: 'create', path: '/after.md', content: 'written' }])
      expect((await redact(store, oldLeak)).length).toBeGreaterThan(0)
      await store.maintenance.verify({ threads: 0 })
      await store.close()
      disk.release()
    }
  },
)

// Whatever clones on disks and a store in RAM write, and in whatever order they sync, all end with
// the same memories, and each change that was answered is in the history.
// @module-tag slow

import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { hasCode } from '../../src/errors.ts'
import type { Change } from '../../src/index.ts'
import { joinClone, syncAll } from '../support/clones.ts'
import { full, seed } from '../support/seed.ts'
import { author, contentsOf } from '../support/stores.ts'
import { openWeb, servedGrant, webAuthor } from '../support/web-stores.ts'

const path = fc.constantFrom('/a.md', '/b.md', '/c/d.md', '/c/e.md', '/notes/0.md')
const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({ type: fc.constant('write'), path, content: fc.stringMatching(/^[a-z]{1,4}$/) }),
  fc.record({ type: fc.constant('append'), path, content: fc.stringMatching(/^[a-z]{1,4}\n$/) }),
  fc.record({ type: fc.constant('delete'), path }),
  fc.record({ type: fc.constant('rename'), path, to: path }),
)
const step = fc.record({
  who: fc.constantFrom('web', 'web', 'a', 'b'),
  change: fc.option(change, { nil: undefined }),
})

test('one store in RAM among two on disks', { timeout: full ? 1_200_000 : 120_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 6, maxLength: 14 }), async (steps) => {
      const world = await servedGrant()
      const [a, web] = [world.granter, await openWeb(world)]
      const b = await joinClone(a, world.url)
      const written: string[] = []
      for (const { who, change: wanted } of steps) {
        const me = who === 'web' ? web.as(webAuthor) : (who === 'a' ? a : b).store.as(author)
        try {
          if (wanted !== undefined) written.push(...(await me.apply([wanted])).versionIds)
          else if (who === 'web') await web.sync()
          else await (who === 'a' ? a : b).store.as(author).sync()
        } catch (error) {
          if (!hasCode(error, 'not_found', 'path_conflict')) throw error
        }
      }
      await syncAll([a, b])
      await web.sync()
      const all = await contentsOf(a.store)
      expect(await contentsOf(b.store)).toEqual(all)
      expect(await contentsOf(web)).toEqual(all)
      const known = new Set<string>()
      for await (const { versionId } of a.store.history.versions()) known.add(versionId)
      expect(written.filter((id) => !known.has(id))).toEqual([])
      for (const store of [a.store, b.store, web]) await store.close()
    }),
    { seed, numRuns: full ? 60 : 4 },
  )
})

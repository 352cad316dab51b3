// The report of a sync apart from its merge: settings of others, and changes of a version
// that was redacted since, which may repeat its text.

import { describe, expect, test } from 'vitest'
import { allowedTexts, withAllowed } from '../../../../src/store/guard/guard.ts'
import { type Clone, sync, syncAll } from '../../../support/clones.ts'
import { create, edit, pairsOfClones, redact } from '../../../support/hostile-remotes.ts'
import { author } from '../../../support/stores.ts'

const pairOfClones = pairsOfClones()

const secret = 'key = sk-secret\n'

describe('a memory that another clone changed while it was redacted here', () => {
  async function start(): Promise<{ a: Clone; b: Clone; erase: () => Promise<unknown> }> {
    const { a, b } = await pairOfClones()
    await create(a, '/key.md', secret)
    await sync(a)
    await sync(b)
    const erase = (): Promise<unknown> => {
      const select = { path: '/key.md' }
      return a.store.as(author).redact({ select, reason: 'leaked_secret', current: 'delete' })
    }
    return { a, b, erase }
  }

  test('is named on both sides as long as it exists', { tags: 'slow' }, async () => {
    const { a, b, erase } = await start()
    await edit(b, '/key.md', `${secret}more\n`)
    await erase()
    expect(await sync(a)).toMatchObject({ builtOnRedacted: [] })
    const named = (await sync(b)).builtOnRedacted
    expect(named.map(({ path }) => path)).toEqual(['/key.md', '/key.md'])
    expect((await sync(a)).builtOnRedacted).toEqual(named)
    // It repeats the redacted text, as the report warns.
    expect((await a.store.read('/key.md'))?.content).toContain(secret)
    expect((await sync(a)).builtOnRedacted).toEqual([])
  })

  test(
    'is not named if it is unchanged or rewritten by the redacting device',
    { tags: 'slow' },
    async () => {
      const { a, b, erase } = await start()
      await edit(a, '/key.md', 'key = none\n')
      await erase()
      await create(a, '/key.md', 'key = new\n')
      await sync(a)
      expect((await sync(b)).builtOnRedacted).toEqual([])
      expect((await sync(a)).builtOnRedacted).toEqual([])
    },
  )

  test(
    'is not named again when a later redaction rewrites older commits',
    { tags: 'slow' },
    async () => {
      const { a, b } = await pairOfClones()
      for (const path of ['/old.md', '/key.md']) {
        await create(a, path, secret)
        await edit(a, path, 'clean\n')
      }
      await syncAll([a, b])
      const oldest = async ({ store }: Clone, path: string): Promise<string> => {
        const { data: versions } = await store.history.versions({ path, order: 'oldest' })
        return versions[0]?.versionId ?? ''
      }
      await redact(a, await oldest(a, '/key.md'))
      await syncAll([a, b])
      await redact(b, await oldest(b, '/old.md'))
      await sync(b)
      expect((await sync(a)).builtOnRedacted).toEqual([])
    },
  )
})

describe('settings', () => {
  async function rename({ store }: Clone, name: string): Promise<void> {
    await store.as(author).settings.update({ name })
  }

  test('of the other side are reported', { tags: 'slow' }, async () => {
    const { a, b } = await pairOfClones()
    await rename(a, 'one')
    expect((await sync(a)).settings).toBeUndefined()
    expect((await sync(b)).settings).toBe('replaced')
    expect((await sync(b)).settings).toBeUndefined()
  })

  test(
    'that both sides changed win on one side, and both get a report',
    { tags: 'slow' },
    async () => {
      const { a, b } = await pairOfClones()
      await rename(a, 'one')
      await create(b, '/higher.md')
      await rename(b, 'two')
      await sync(a)
      expect((await sync(b)).settings).toBe('kept')
      expect((await sync(a)).settings).toBe('replaced')
      for (const { store } of [a, b]) {
        expect((await store.status()).settings.name).toBe('two')
      }
    },
  )

  test(
    'a revocation that another change undoes is reported on both sides',
    { tags: 'slow' },
    async () => {
      const { a, b } = await pairOfClones()
      const [revoked, added] = ['1'.repeat(64), '2'.repeat(64)]
      const change = async (
        { store }: Clone,
        sha256: string,
        isAllowed: boolean,
      ): Promise<void> => {
        await store.as(author).settings.update(({ metadata }) => ({
          metadata: withAllowed(metadata, sha256, isAllowed),
        }))
      }
      await change(a, revoked, true)
      await syncAll([a, b])
      await change(a, revoked, false)
      await create(b, '/higher.md')
      await change(b, added, true)
      await sync(a)
      expect((await sync(b)).settings).toBe('kept')
      expect((await sync(a)).settings).toBe('replaced')
      const allowed = async ({ store }: Clone): Promise<readonly string[]> =>
        allowedTexts((await store.status()).settings)
      expect(await allowed(a)).toEqual([revoked, added])
      // Repeating it is what the document advises.
      await change(a, revoked, false)
      await syncAll([a, b])
      for (const clone of [a, b]) expect(await allowed(clone)).toEqual([added])
    },
  )
})

// Redactions between two syncs: a store that was open all the time keeps nothing of the text, and
// the host gets every object that it lacks.

import { expect, onTestFinished, test, vi } from 'vitest'
import { parseId } from '../../../../src/format/id.ts'
import { ContentCache } from '../../../../src/store/history/contents.ts'
import { put, sync } from '../../../support/clones.ts'
import { expectInStep, pairsOfClones, redact } from '../../../support/hostile-remotes.ts'

const pairOfClones = pairsOfClones()

test(
  'after its sync, no open store holds a text that another machine redacted',
  { tags: 'slow' },
  async () => {
    const { a, b } = await pairOfClones()
    const secret = await put(a, '/key.txt', 'sk-leaked')
    await sync(a)
    await sync(b)
    const added = vi.spyOn(ContentCache.prototype, 'add')
    onTestFinished(() => added.mockRestore())
    expect(await b.store.read('/key.txt')).toMatchObject({ content: 'sk-leaked' })
    const [cache] = added.mock.contexts
    const inCache = (): string | undefined =>
      cache instanceof ContentCache ? cache.find(parseId('version', secret)) : undefined
    expect(inCache()).toBe('sk-leaked')
    await b.store.history.versions({ path: '/key.txt' })
    await put(a, '/key.txt', 'revoked')
    await redact(a, secret)
    await sync(a)
    expect((await sync(b)).erased).toBe(1)
    expect(inCache()).toBeUndefined()
    expect(await b.store.history.version(secret)).toMatchObject({
      content: undefined,
      path: undefined,
    })
    expect((await b.store.maintenance.findResidue()).found).toEqual([])
  },
)

test(
  'two redactions between syncs, the older version first: the host gets both',
  { tags: 'slow' },
  async () => {
    const { a, b, remote } = await pairOfClones()
    const secrets: string[] = []
    for (const path of ['/old.txt', '/new.txt']) {
      secrets.push(await put(a, path, 'sk-leaked'))
      await put(a, path, 'revoked')
      // What lies between has another name as soon as the older one is redacted.
      await put(a, `${path}.md`, 'between')
    }
    await sync(a)
    for (const secret of secrets) await redact(a, secret)
    await sync(a)
    await sync(b)
    await expectInStep(remote, [a, b])
  },
)

// Redactions at their limits: texts that cannot be overwritten, more versions than were confirmed,
// a disk that fails at the end, more memories than a record has rows.

import { describe, expect, test } from 'vitest'
import { systemDisk } from '../../../src/disk/system-disk.ts'
import { type MemoryStore, StoreError } from '../../../src/index.ts'
import { rowsMax } from '../../../src/limits.ts'
import { FLAT_MAX } from '../../../src/store/snapshot/memory-tree.ts'
import { inlinePacker } from '../../support/inline-packer.ts'
import { full } from '../../support/seed.ts'
import { author, newStore, reopen, type TestPlace } from '../../support/stores.ts'

const key = 'sk-live-4242424242424242'

/** Three versions of `/a.md`, the second with a key; `/gone.md` with the key, deleted. */
async function written(): Promise<{ store: MemoryStore; place: TestPlace }> {
  const made = await newStore()
  const { store } = made
  await store.as(author).apply([{ type: 'create', path: '/a.md', content: 'one\n' }])
  await store.as(author).apply([{ type: 'edit', path: '/a.md', edit: () => `one\n${key}\n` }])
  await store.as(author).apply([{ type: 'edit', path: '/a.md', edit: () => 'one\ntwo\n' }])
  await store.as(author).apply([{ type: 'create', path: '/b.md', content: 'b\n' }])
  await store.as(author).apply([{ type: 'create', path: '/gone.md', content: `one\n${key}\n` }])
  await store.as(author).apply([{ type: 'delete', path: '/gone.md' }])
  return made
}

describe('overwriting', () => {
  async function overwrite(content: string, matching: RegExp): Promise<string | undefined> {
    const { store } = await newStore()
    await store.as(author).apply([{ type: 'create', path: '/a', content }])
    const request = { select: { matching }, reason: 'leaked_secret', current: 'overwrite' } as const
    try {
      await store.as(author).redact(request)
      await store.maintenance.verify()
      expect((await store.history.planRedaction(request)).versions).toEqual([])
      return (await store.read('/a'))?.content
    } finally {
      await store.close()
    }
  }

  test.each([
    ['a text that matches twice', 'ab ab', /ab/, '[redacted] [redacted]'],
    ['what matches once the rest has come together', 'xx[[', /x\[/, '[redacted]redacted]['],
  ])('leaves nothing that matches: %s', async (_, content, matching, left) => {
    expect(await overwrite(content, matching)).toBe(left)
  })

  test.each([
    ['the placeholder itself', 'a redacted text', /redacted/],
    ['every character', 'a text', /[^]/],
    ['what the placeholder brings back each time', '[[[[[[[[[[[[[[[[x', /\[(?=r|x)/],
  ])('is refused for a pattern that matches %s', async (_, content, matching) => {
    await expect(overwrite(content, matching)).rejects.toMatchObject({ code: 'version_current' })
  })

  test.each([
    ['a path', { path: '/sk-live-1', content: 'sk-live-1 b\n' }, {}],
    ['the reason alone', { path: '/a', content: 'b\n' }, { reason: 'had sk-live-1' }],
  ])('is refused where %s matches, and changes nothing', async (_, memory, why) => {
    const { store } = await newStore()
    await store.as({ ...author, ...why }).apply([{ type: 'create', ...memory }])
    const select = { matching: /sk-live-\d+/ }
    const request = { select, reason: 'leaked_secret', current: 'overwrite' } as const
    const error = { code: 'version_current' }
    await expect(store.as(author).redact(request)).rejects.toMatchObject(error)
    expect((await store.read(memory.path))?.content).toBe(memory.content)
    expect((await store.history.versions({ path: memory.path })).data).toHaveLength(1)
    await store.maintenance.verify()
    await store.close()
  })

  test('is refused in an archived store, which allows deletions and redactions', async () => {
    const { store } = await written()
    await store.as(author).settings.update({ archivedAt: 1 })
    const request = { select: { path: '/a.md' }, reason: 'legal' } as const
    await expect(
      store.as(author).redact({ ...request, current: 'overwrite' }),
    ).rejects.toMatchObject({
      code: 'store_archived',
    })
    await store.as(author).redact({ ...request, current: 'delete' })
    expect(await store.read('/a.md')).toBeUndefined()
    await store.maintenance.verify()
    await store.close()
  })
})

test('a redaction that leaves few memories of a directory makes it flat', async () => {
  const { store } = await newStore()
  const paths = Array.from({ length: FLAT_MAX + 1 }, (_, index) => `/${index}`)
  await store.as(author).apply(paths.map((path) => ({ type: 'create', path, content: path })))
  await store.as(author).redact({ select: { path: '/0' }, reason: 'legal', current: 'delete' })
  await store.maintenance.verify()
  await store.close()
})

describe('a confirmed selection', () => {
  test('is the limit: nothing is done if more is selected now', async () => {
    const { store } = await written()
    const select = { matching: /sk-live/ }
    const request = { select, reason: 'leaked_secret', current: 'keep' } as const
    const confirmed = (await store.history.planRedaction(request)).versions.map(
      (one) => one.versionId,
    )
    await store.as(author).apply([{ type: 'edit', path: '/a.md', edit: () => `again ${key}` }])
    await store.as(author).apply([{ type: 'edit', path: '/a.md', edit: () => 'clean' }])
    const before = (await store.status()).head
    await expect(store.as(author).redact({ ...request, confirmed })).rejects.toMatchObject({
      code: 'precondition_failed',
      details: { versionIds: [expect.stringMatching(/^memver_/)] },
    })
    expect((await store.status()).head).toBe(before)
    const more = (await store.history.planRedaction(request)).versions.map((one) => one.versionId)
    const { certificate } = await store.as(author).redact({ ...request, confirmed: more })
    expect(certificate?.versions).toHaveLength(3)
    await store.close()
  })

  test('keeps no reason of the redactor, even of what it deletes first', async () => {
    const { store } = await written()
    const request = { select: { matching: /sk-live/ }, reason: 'legal', current: 'delete' } as const
    const me = store.as({ ...author, reason: 'sk-live leaked' })
    await me.write('/more', 'sk-live')
    const { certificate } = await me.redact(request)
    expect(certificate?.versions.length).toBeGreaterThan(1)
    for await (const { operation, reason } of store.history.versions()) {
      if (operation === 'deleted') expect(reason).toBeUndefined()
    }
    await store.close()
  })
})

test('a redaction that cannot erase gives its certificate with the error', async () => {
  const { store: first, place } = await written()
  await first.close()
  const packer = inlinePacker(systemDisk, place.directory)
  let broken = true
  const store = await reopen(place, {
    packer: {
      ...packer,
      async filter(dead, heads) {
        if (broken) throw new StoreError('storage_failed', 'The disk is broken')
        await packer.filter(dead, heads)
      },
    },
  })
  const request = { select: { matching: /sk-live/ }, reason: 'leaked_secret' } as const
  const error: unknown = await store
    .as(author)
    .redact(request)
    .catch((caught: unknown) => caught)
  expect(error).toMatchObject({
    code: 'storage_failed',
    details: {
      certificate: {
        type: 'gitlocket_redaction',
        versions: [{}, {}],
        signature: { value: expect.stringMatching(/SSH SIGNATURE/) },
      },
    },
  })
  const report = await store.maintenance.findResidue()
  expect(report.pending).toBeGreaterThan(0)
  expect(report.found.length).toBeGreaterThan(0)
  broken = false
  expect((await store.as(author).redact(request)).certificate).toBeUndefined()
  expect(await store.maintenance.findResidue()).toMatchObject({ found: [], pending: 0 })
  await store.close()
})

test('a proof reports what it searched', async () => {
  const { store: first, place } = await written()
  const request = { select: { matching: /sk-live/ }, reason: 'leaked_secret' } as const
  await first.as(author).redact(request)
  await first.close()
  const store = await reopen(place)
  await store.as(author).apply([{ type: 'create', path: '/c.md', content: 'c' }])
  const { journalBytes, ...report } = await store.maintenance.findResidue()
  // The two that were live; a history this short is not written to a file.
  expect(report).toMatchObject({ versions: 2, cached: 2, pending: 0, found: [] })
  expect(journalBytes).toBeGreaterThan(0)
  await store.close()
})

test('clears all live memories, in as many commits as necessary', async () => {
  const { store } = await newStore({ limits: { memories: 20_000 } })
  // With FULL=1 more than one record has rows.
  const count = full ? rowsMax + 10 : 30
  for (let start = 0; start < count; start += rowsMax) {
    const numbers = Array.from({ length: Math.min(rowsMax, count - start) }, (_, n) => start + n)
    const made = numbers.map((n) => ({ type: 'create' as const, path: `/${n}`, content: `${n}` }))
    await store.as(author).apply(made)
  }
  const request = { select: { path: '/' }, reason: 'retention', current: 'delete' } as const
  const { certificate } = await store.as(author).redact(request)
  // The deletions too, since they name the paths.
  expect(certificate?.versions).toHaveLength(2 * count)
  expect(certificate?.commits).toHaveLength(full ? 3 : 1)
  expect((await store.status()).memories).toBe(0)
  await store.maintenance.verify()
  await store.close()
}, 600_000)

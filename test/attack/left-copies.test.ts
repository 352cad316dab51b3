// T41: an edit that was made elsewhere, before a redaction arrived there, brings the erased text
// back. It is named, by the proof of absence and by sync, until it is redacted too. FORMAT §10.

import { describe, expect, test } from 'vitest'
import type { MemoryStore, RedactionRequest } from '../../src/index.ts'
import { type Clone, put, sync, syncAll } from '../support/clones.ts'
import { pairsOfClones } from '../support/hostile-remotes.ts'
import { author, newStore } from '../support/stores.ts'

const pairOfClones = pairsOfClones()
const secret = 'key = sk-secret\n'
const path = '/key.md'

type Select = RedactionRequest['select']

function redact({ store }: Pick<Clone, 'store'>, select: Select, current?: 'delete' | 'keep') {
  return store.as(author).redact({ select, reason: 'leaked_secret', current })
}

/** The versions that may hold an erased text, and the versions that any text still holds it. */
async function left({ store }: Pick<Clone, 'store'>): Promise<readonly string[]> {
  const { found, builtOnRedacted } = await store.maintenance.findResidue()
  expect(found).toEqual([])
  expect(await store.maintenance.builtOnRedacted()).toEqual(builtOnRedacted)
  return builtOnRedacted.map(({ versionId }) => versionId)
}

async function holdersOf(store: MemoryStore, text: string): Promise<readonly string[]> {
  const holders: string[] = []
  for await (const { versionId, content } of store.history.versions({ view: 'full' })) {
    if (content?.includes(text) === true) holders.push(versionId)
  }
  return holders
}

interface World {
  readonly a: Clone
  readonly b: Clone
  /** The version with the secret. */
  readonly leak: string
}

async function leaked(): Promise<World> {
  const { a, b } = await pairOfClones()
  const leak = await put(a, path, secret)
  await syncAll([a, b])
  return { a, b, leak }
}

describe(
  'T41: an edit of another clone, which did not know of the redaction',
  { tags: 'slow' },
  () => {
    test('is named on all clones until it is redacted, and so is the merge with it', async () => {
      const { a, b, leak } = await leaked()
      const copy = await put(b, path, `${secret}more\n`)
      await redact(a, { versionIds: [leak] }, 'delete')
      expect(await left(a)).toEqual([])
      await sync(a)
      const { builtOnRedacted } = await sync(b)
      await sync(a)
      const holders = await holdersOf(a.store, 'sk-secret')
      expect(holders).toContain(copy)
      for (const clone of [a, b]) expect(await left(clone)).toEqual(holders)
      expect(builtOnRedacted.map(({ versionId }) => versionId)).toEqual(holders)
      expect(builtOnRedacted.map((one) => one.redactedVersionIds)).toEqual([[leak], [leak]])
      // What sync and the proof say to do.
      const { certificate } = await redact(a, { versionIds: [leak], withCopies: true }, 'delete')
      const erased = certificate?.versions.map((version) => version.memory_version_id)
      expect(erased).toEqual(expect.arrayContaining([...holders]))
      await syncAll([a, b])
      for (const clone of [a, b]) {
        expect(await left(clone)).toEqual([])
        expect(await holdersOf(clone.store, 'sk-secret')).toEqual([])
      }
    })

    test('is named even if the text was deleted there and restored', async () => {
      const { a, b, leak } = await leaked()
      await b.store.as(author).delete(path)
      await b.store.as(author).restore({ memory: path, to: { versionId: leak } })
      await redact(a, { versionIds: [leak] }, 'delete')
      await syncAll([a, b])
      const holders = await holdersOf(a.store, 'sk-secret')
      expect(holders.length).toBeGreaterThan(0)
      for (const clone of [a, b]) expect(await left(clone)).toEqual(holders)
    })

    test('is named below every later edit, until the redactor has seen these', async () => {
      const { a, b, leak } = await leaked()
      const copy = await put(b, path, `${secret}more\n`)
      await redact(a, { versionIds: [leak] }, 'delete')
      await syncAll([a, b])
      const edit = await put(a, path, 'clean\n')
      const all = await left(a)
      expect(all).toEqual(expect.arrayContaining([copy, edit]))
      const { plan, certificate } = await redact(a, {
        versionIds: all.filter((versionId) => versionId !== edit),
      })
      expect(plan.builtOn.map(({ versionId }) => versionId)).toEqual([edit])
      expect(certificate?.may_repeat).toEqual([edit])
      expect(await left(a)).toEqual([])
    })

    test('is not named if it knows of it, or deletes, or is of another memory', async () => {
      const { a, b, leak } = await leaked()
      await put(b, '/other.md', 'other\n')
      await b.store.as(author).delete(path)
      await put(a, path, 'clean\n')
      await redact(a, { versionIds: [leak] })
      await syncAll([a, b])
      await put(b, path, 'clean too\n')
      await syncAll([a, b])
      for (const clone of [a, b]) expect(await left(clone)).toEqual([])
    })
  },
)

describe('T41: a copy that exists already', () => {
  async function leakAndFix(): Promise<{ store: MemoryStore; versions: readonly string[] }> {
    const { store } = await newStore()
    const versions = [await put({ store }, path, secret)]
    versions.push(await put({ store }, path, `${secret}more\n`))
    versions.push(await put({ store }, path, 'clean\n'))
    return { store, versions }
  }
  const newest = (versions: readonly string[]): readonly string[] => versions.toReversed()

  test('is counted by the plan, named by the certificate, and no residue', async () => {
    const { store, versions } = await leakAndFix()
    const [leak = '', ...others] = versions
    const { plan, certificate } = await redact({ store }, { versionIds: [leak] })
    expect(plan.builtOn.map(({ versionId }) => versionId)).toEqual(newest(others))
    expect(certificate?.may_repeat).toEqual(newest(others))
    // The user who redacts has seen them.
    expect(await left({ store })).toEqual([])
  })

  test('is erased in the same step', async () => {
    const { store, versions } = await leakAndFix()
    const select = { versionIds: versions.slice(0, 1), withCopies: true }
    const { plan } = await redact({ store }, select, 'keep')
    expect(plan.versions.map(({ versionId }) => versionId)).toEqual(newest(versions.slice(0, 2)))
    expect(await holdersOf(store, 'sk-secret')).toEqual([])
  })

  test('is erased with a pattern only if it matches', async () => {
    const { store, versions } = await leakAndFix()
    const select = { versionIds: versions.slice(0, 1), matching: /sk-secret/, withCopies: true }
    const { plan } = await redact({ store }, select)
    expect(plan.versions.map(({ versionId }) => versionId)).toEqual(newest(versions.slice(0, 2)))
    expect(plan.builtOn).toEqual([])
  })
})

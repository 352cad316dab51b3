// The quick reading of verified commits finds what the strict one finds.

import { describe, expect, test } from 'vitest'
import { utf8 } from '../../../src/bytes.ts'
import { StoreError } from '../../../src/errors.ts'
import { findSections, treeOf, parseCommit } from '../../../src/format/commit.ts'
import { readCommitBytes } from '../../../src/store/commits/decoded-commit.ts'
import { commitsOf, historyOf } from '../../support/histories.ts'
import { author, newStore } from '../../support/stores.ts'

describe('the sections of a commit', () => {
  test('equal those of strict parsing, in records of every kind', async () => {
    const { store, place } = await newStore()
    await store.as(author).apply([{ type: 'create', path: '/a', content: 'x'.repeat(9999) }])
    await store.as(author).settings.update({ name: 'other' })
    await store.as(author).keys.rotate()
    await store.as(author).apply([{ type: 'edit', path: '/a', edit: () => '' }])
    const { data: versions } = await store.history.versions({ order: 'oldest' })
    const versionIds = [versions[0]?.versionId ?? '']
    await store.as(author).redact({ select: { versionIds }, reason: 'legal' })
    const read = await historyOf(store, place)
    const { history, contents } = read
    const kinds = commitsOf(history).map(({ kind }) => kind)
    expect(kinds).toEqual(['genesis', 'change', 'settings', 'keyring', 'change', 'redact'])
    for (const { oid } of history.commits) {
      const bytes = readCommitBytes(contents.objects, oid)
      const { tree, parents, record, detail } = parseCommit(bytes)
      expect(treeOf(bytes)).toBe(tree)
      const sections = findSections(bytes)
      expect(sections.parents).toEqual(parents)
      expect(Buffer.from(sections.record)).toEqual(Buffer.from(record))
      expect(sections.detail && Buffer.from(sections.detail)).toEqual(detail && Buffer.from(detail))
    }
    await read.close()
    await store.close()
  })

  test.each(['', 'tree', `tree ${'0'.repeat(40)}\n\n-----BEGIN GITLOCKET RECORD-----\n`])(
    'are not found in %j',
    (text) => {
      const search = () => findSections(utf8(text))
      expect(search).toThrow(StoreError)
      expect(search).toThrow(expect.objectContaining({ code: 'commit_malformed' }))
    },
  )
})

// The reference decoder on stores that its own minimal writer makes from FORMAT: what it reads,
// that stock git accepts them, and that it names the fault of a store with one fault.
// @module-tag slow

import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import {
  changed,
  member,
  newPath,
  read,
  row,
  settings,
  started,
  withMembers,
} from '../../support/reference-stores.ts'
import { groupSeed } from '../../support/reference/keys.ts'
import { type Row, zeroId } from '../../support/reference/record.ts'
import type { NamedRow } from '../../support/reference/rows.ts'
import { allowedSigner } from '../../support/reference/sshsig.ts'
import type { NewRow, StoreWriter } from '../../support/reference/writer.ts'

const unknown = '22'.repeat(16)

/** The next row of a row's memory. */
function next({ memoryId }: NamedRow, more: Partial<NewRow> = {}): NewRow {
  return row(2, 'modified', { memoryId, ...more })
}

/** The same as a record has it. */
function edit({ memoryId, versionId, commitment }: NamedRow): Row {
  return { memoryId, base: versionId, secondBase: zeroId, operation: 'modified', commitment }
}

describe('a store', () => {
  test('reads as its changes say', { tags: 'slow' }, () => {
    const writer = started()
    const created = [row(1, 'created', { note: 'first' }), row(2, 'created', { path: '/b/c' })]
    const [memoryId = '', other = ''] = writer.change(created).map((made) => made.memoryId)
    const { versionId } = changed(writer, row(3, 'modified', { memoryId, path: '/renamed' }))
    changed(writer, row(4, 'deleted', { memoryId: other, path: '/b/c' }))
    writer.settings({ ...settings, name: 'Other' })
    const store = read(writer)
    expect(store.settings?.name).toBe('Other')
    expect([...store.memories]).toEqual([
      ['/renamed', { memoryId, versionId, content: 'text 3\n', created: 1_700_000_001_000 }],
    ])
    expect(store.commits.map((c) => c.kind).join()).toBe('genesis,change,change,change,settings')
    expect(store.commits[1]?.rows[0]).toMatchObject({ path: '/a', note: 'first', size: 7 })
  })

  test('revives a deleted memory', { tags: 'slow' }, () => {
    const writer = started()
    const { memoryId } = changed(writer, row(1, 'created'))
    changed(writer, row(2, 'deleted', { memoryId }))
    changed(writer, row(3, 'created', { memoryId }))
    expect(read(writer).memories.get('/a')?.created).toBe(1_700_000_001_000)
  })

  test('with 40 memories has a radix tree that reads back', { tags: 'slow' }, () => {
    const writer = started()
    writer.change(Array.from({ length: 40 }, (_, n) => row(n, 'created', { path: `/${n}` })))
    expect(read(writer).memories.size).toBe(40)
  })

  test(
    'keeps the trail of a redacted version, and loses its detail and text',
    { tags: 'slow' },
    () => {
      const writer = started()
      const leak = changed(writer, row(1, 'created', { content: 'secret' }))
      const { memoryId, versionId } = leak
      changed(writer, next(leak))
      writer.redact([leak])
      const store = read(writer)
      const named = { memoryId, versionId, base: zeroId, redacted: true }
      expect(store.commits[1]?.rows).toEqual([{ ...named, operation: 'created' }])
      expect(store.commits[3]?.rows).toEqual([{ ...named, operation: undefined }])
      expect([...store.redacted]).toEqual([versionId])
      expect(store.memories.get('/a')?.content).toBe('text 2\n')
    },
  )

  test('passes git fsck and git verify-commit', () => {
    const writer = started()
    writer.change([row(1, 'created')])
    const directory = newPath()
    writer.write(directory)
    const signers = newPath()
    writeFileSync(signers, allowedSigner(groupSeed(writer.epoch)))
    const git = (...words: readonly string[]) =>
      execFileSync(
        'git',
        ['-C', directory, '-c', `gpg.ssh.allowedSignersFile=${signers}`, ...words],
        {
          encoding: 'utf8',
          stdio: 'pipe',
        },
      )
    expect(git('fsck', '--strict')).toBe('')
    expect(git('verify-commit', 'main')).toBe('')
  })

  test.each(['reader', 'auditor'] as const)('opens for a %s', { tags: 'slow' }, (role) => {
    const writer = started()
    const joining = member(writer, role)
    writer.keyring({ directory: withMembers(writer, joining), epoch: writer.epoch })
    writer.change([row(1, 'created')])
    const store = read(writer, undefined, joining.identity)
    expect(store.commits.length).toBe(3)
    expect(store.memories.size).toBe(role === 'reader' ? 1 : 0)
  })

  test('does not open for a stranger', () => {
    const writer = started()
    const { identity } = member(writer, 'owner')
    expect(() => read(writer, undefined, identity)).toThrow(/^wrong_key: /)
  })
})

describe('a second epoch', () => {
  test('reads what was written in both', { tags: 'slow' }, () => {
    const writer = started()
    writer.change([row(1, 'created')])
    const epoch = writer.newEpoch()
    writer.keyring({ directory: withMembers(writer), epoch })
    writer.change([row(2, 'created', { path: '/b' })])
    expect([...read(writer).memories.keys()]).toEqual(['/a', '/b'])
  })
})

describe('one fault is refused by its name', () => {
  test.each<[string, string, (writer: StoreWriter, first: NamedRow) => unknown]>([
    ['record_height', 'a height', (w, a) => w.change([next(a)], { height: 9 })],
    ['record_parents', 'a parent', (w, a) => w.change([next(a)], { parents: ['ab'.repeat(32)] })],
    ['record_keyring', 'a keyring link', (w, a) => w.change([next(a)], { keyring: a.commitment })],
    ['record_device', 'an author', (w, a) => w.change([next(a)], { deviceId: unknown })],
    ['record_sequence', 'a sequence', (w, a) => w.change([next(a)], { sequence: 1 })],
    ['record_chain', 'a chain', (w, a) => w.change([next(a)], { previous: a.commitment })],
    ['record_malformed', 'an actor', (w, a) => w.change([next(a)], { actor: undefined })],
    ['record_rows', 'no rows', (w) => w.change([])],
    [
      'record_rows',
      'a creation of a memory with an id',
      (w, { memoryId }) => w.change([row(2, 'created', { memoryId, base: zeroId })]),
    ],
    [
      'record_rows',
      'a restoration of no memory',
      (w, { versionId }) => w.change([row(2, 'created', { base: versionId })]),
    ],
    ['record_rows', 'an edit of no memory', (w) => w.change([row(2, 'modified')])],
    ['record_rows', 'two rows of one memory', (w, a) => w.change([next(a), next(a)])],
    [
      'record_rows',
      'a creation that is not first',
      (w, a) => w.change([next(a), next(a)], { rows: [edit(a), { ...a, memoryId: zeroId }] }),
    ],
    ['row_base_mismatch', 'a base', (w, a) => w.change([next(a, { base: unknown })])],
    [
      'row_memory_exists',
      'a restoration of what is there',
      (w, { memoryId }) => w.change([row(2, 'created', { memoryId })]),
    ],
    [
      'row_memory_missing',
      'a missing memory',
      (w, a) => w.change([next(a, { memoryId: unknown })]),
    ],
    ['redact_target', 'a live target', (w, a) => w.redact([a])],
    ['redact_target', 'no version', (w, a) => w.redact([{ ...a, versionId: unknown }])],
    ['detail_malformed', 'a path', (w, a) => w.change([next(a, { path: 'a' })])],
    [
      'detail_mismatch',
      'a deletion’s path',
      (w, { memoryId }) => w.change([row(2, 'deleted', { memoryId, path: '/z' })]),
    ],
    ['row_path_conflict', 'one path twice', (w) => w.change([row(2, 'created')])],
    ['row_path_conflict', 'a path above', (w) => w.change([row(2, 'created', { path: '/a/b' })])],
  ])('%s: %s', (kind, _, spoil) => {
    const writer = started()
    spoil(writer, changed(writer, row(1, 'created')))
    expect(() => read(writer)).toThrow(new RegExp(`^${kind}: `))
  })

  test('redaction_undone: a history that was not rewritten', () => {
    const writer = started()
    const first = changed(writer, row(1, 'created'))
    changed(writer, next(first))
    writer.redact([first])
    expect(() => read(writer, new Set())).toThrow(/^redaction_undone: /)
  })

  test('detail_missing: a history that was rewritten without a redact record', () => {
    const writer = started()
    const first = changed(writer, row(1, 'created'))
    changed(writer, next(first))
    expect(() => read(writer, new Set([first.versionId]))).toThrow(/^detail_missing: /)
  })

  test('record_role: a reader that writes', () => {
    const writer = started()
    const joining = member(writer, 'reader')
    writer.keyring({ directory: withMembers(writer, joining), epoch: writer.epoch })
    writer.change([row(1, 'created')], {}, joining.identity.signingSeed)
    expect(() => read(writer)).toThrow(/^record_role: /)
  })
})

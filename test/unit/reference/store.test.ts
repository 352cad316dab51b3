// The reference decoder on stores that its own minimal writer makes from FORMAT: what it reads,
// that stock git accepts them, and that it names the fault of a store with one fault.

import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import {
  m1,
  m2,
  member,
  newPath,
  read,
  row,
  settings,
  started,
  version,
  withMembers,
} from '../../support/reference-stores.ts'
import { groupSeed } from '../../support/reference/keys.ts'
import { allowedSigner } from '../../support/reference/sshsig.ts'
import type { StoreWriter } from '../../support/reference/writer.ts'

describe('a store', () => {
  test('reads as its changes say', { tags: 'slow' }, () => {
    const writer = started()
    writer.change([
      row(1, 'created', { note: 'first' }),
      row(2, 'created', { memoryId: m2, path: '/b/c' }),
    ])
    writer.change([row(3, 'modified', { path: '/renamed' })])
    writer.change([row(4, 'deleted', { memoryId: m2, path: '/b/c' })])
    writer.settings({ ...settings, name: 'Other' })
    const store = read(writer)
    expect(store.settings?.name).toBe('Other')
    expect([...store.memories]).toEqual([
      [
        '/renamed',
        { memoryId: m1, versionId: version(3), content: 'text 3\n', created: 1_700_000_001_000 },
      ],
    ])
    expect(store.commits.map((c) => c.kind).join()).toBe('genesis,change,change,change,settings')
    expect(store.commits[1]?.rows[0]).toMatchObject({ path: '/a', note: 'first', size: 7 })
  })

  test('revives a deleted memory', { tags: 'slow' }, () => {
    const writer = started()
    writer.change([row(1, 'created')])
    writer.change([row(2, 'deleted')])
    writer.change([row(3, 'created')])
    expect(read(writer).memories.get('/a')?.created).toBe(1_700_000_001_000)
  })

  test('with 40 memories has a radix tree that reads back', { tags: 'slow' }, () => {
    const writer = started()
    const ids = Array.from({ length: 40 }, () => writer.newId())
    const rows = ids.map((memoryId, i) => row(i + 1, 'created', { memoryId, path: `/${memoryId}` }))
    writer.change(rows)
    expect(read(writer).memories.size).toBe(40)
  })

  test(
    'keeps the trail of a redacted version, and loses its detail and text',
    { tags: 'slow' },
    () => {
      const writer = started()
      writer.change([row(1, 'created', { content: 'secret' })])
      writer.change([row(2, 'modified')])
      writer.redact([{ memoryId: m1, versionId: version(1) }])
      const store = read(writer)
      expect(store.commits[1]?.rows).toEqual([
        {
          memoryId: m1,
          versionId: version(1),
          base: version(0),
          operation: 'created',
          redacted: true,
        },
      ])
      expect([...store.redacted]).toEqual([version(1)])
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
    writer.change([row(2, 'created', { memoryId: m2, path: '/b' })])
    expect([...read(writer).memories.keys()]).toEqual(['/a', '/b'])
  })
})

describe('one fault is refused by its name', () => {
  test.each<[string, string, (writer: StoreWriter) => void]>([
    ['record_height', 'a height', (w) => w.change([row(2, 'modified')], { height: 9 })],
    [
      'record_parents',
      'a parent',
      (w) => w.change([row(2, 'modified')], { parents: ['ab'.repeat(32)] }),
    ],
    [
      'record_keyring',
      'a keyring link',
      (w) => w.change([row(2, 'modified')], { keyring: 'ab'.repeat(32) }),
    ],
    [
      'record_device',
      'an author',
      (w) => w.change([row(2, 'modified')], { deviceId: 'ab'.repeat(16) }),
    ],
    ['record_sequence', 'a sequence', (w) => w.change([row(2, 'modified')], { sequence: 1 })],
    [
      'record_chain',
      'a chain',
      (w) => w.change([row(2, 'modified')], { previous: 'ab'.repeat(32) }),
    ],
    ['record_malformed', 'an actor', (w) => w.change([row(2, 'modified')], { actor: undefined })],
    ['record_rows', 'no rows', (w) => w.change([])],
    ['row_version_reused', 'a version id', (w) => w.change([row(1, 'modified')])],
    ['row_base_mismatch', 'a base', (w) => w.change([row(2, 'modified', { base: version(7) })])],
    [
      'row_memory_exists',
      'a second creation',
      (w) => w.change([row(2, 'created', { base: version(0) })]),
    ],
    [
      'row_memory_missing',
      'a missing memory',
      (w) => w.change([row(2, 'modified', { memoryId: m2 })]),
    ],
    ['redact_target', 'a live target', (w) => w.redact([{ memoryId: m1, versionId: version(1) }])],
    ['detail_malformed', 'a path', (w) => w.change([row(2, 'modified', { path: 'a' })])],
    ['detail_mismatch', 'a deletion’s path', (w) => w.change([row(2, 'deleted', { path: '/z' })])],
    ['row_path_conflict', 'one path twice', (w) => w.change([row(2, 'created', { memoryId: m2 })])],
    [
      'row_path_conflict',
      'a path above',
      (w) => w.change([row(2, 'created', { memoryId: m2, path: '/a/b' })]),
    ],
  ])('%s: %s', (kind, _, spoil) => {
    const writer = started()
    writer.change([row(1, 'created')])
    spoil(writer)
    expect(() => read(writer)).toThrow(new RegExp(`^${kind}: `))
  })

  test('redaction_undone: a history that was not rewritten', () => {
    const writer = started()
    writer.change([row(1, 'created')])
    writer.change([row(2, 'modified')])
    writer.redact([{ memoryId: m1, versionId: version(1) }])
    expect(() => read(writer, new Set())).toThrow(/^redaction_undone: /)
  })

  test('detail_missing: a history that was rewritten without a redact record', () => {
    const writer = started()
    writer.change([row(1, 'created')])
    writer.change([row(2, 'modified')])
    expect(() => read(writer, new Set([version(1)]))).toThrow(/^detail_missing: /)
  })

  test('record_role: a reader that writes', () => {
    const writer = started()
    const joining = member(writer, 'reader')
    writer.keyring({ directory: withMembers(writer, joining), epoch: writer.epoch })
    writer.change([row(1, 'created')], {}, joining.identity.signingSeed)
    expect(() => read(writer)).toThrow(/^record_role: /)
  })
})

// The verbs for the whole store: settings, compact, expire, and the sizes that status
// and doctor show.

import { readdirSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { git as stockGit } from '../support/temporary.ts'
import { requires } from '../support/tools.ts'
import { newHome, newHomeWithStore } from './cli-process.ts'

const git = requires('git')

describe('settings', () => {
  test('are shown, and change one by one', async () => {
    const home = await newHomeWithStore()
    const text = await home.ok('settings', '--name', 'Team', '--description', 'Notes of the team')
    expect(text).toBe(
      [
        'Name           Team',
        'Description    Notes of the team',
        'Content limit  102.4 kB a memory',
        'Memory limit   10,000 memories',
        'Guard          on: texts with secrets are refused',
        '',
      ].join('\n'),
    )
    const limits = await home.json('settings', '--content-limit', '10', '--memory-limit', '1')
    expect(limits).toMatchObject({
      changed: true,
      name: 'Team',
      limits: { content_size_bytes: 10, memories: 1 },
    })
    expect(await home.json('settings')).toMatchObject({ changed: false, commit: null })
    expect((await home.call(['create', 'a', '--text', 'x'.repeat(11)])).exitCode).toBe(5)
    await home.ok('create', 'a', '--text', 'x')
    expect((await home.call(['create', 'b', '--text', 'x'])).exitCode).toBe(5)
    expect(await home.json('status')).toMatchObject({ name: 'Team', guard: true })
    await home.ok('verify')
  })
})

test('settings that processes change at once all change', { tags: 'slow' }, async () => {
  const home = await newHomeWithStore()
  const changes = [
    ['--name', 'Team'],
    ['--description', 'Notes'],
    ['--content-limit', '10'],
    ['--memory-limit', '1'],
    ['--guard', 'off'],
  ]
  const ended = await Promise.all(changes.map(async (words) => home.run(['settings', ...words])))
  expect(ended.map(({ exitCode }) => exitCode)).toEqual(changes.map(() => 0))
  expect(await home.json('settings')).toMatchObject({
    name: 'Team',
    description: 'Notes',
    limits: { content_size_bytes: 10, memories: 1 },
    guard: false,
  })
})

describe('compact', () => {
  test('leaves one pack, and everything in it', { tags: 'slow' }, async () => {
    const home = await newHomeWithStore()
    for (const text of ['one', 'two', 'three']) {
      await home.ok('create', `${text}.md`, '--text', text)
    }
    const before = await home.json('status')
    const answer = await home.json('compact')
    expect(answer).toMatchObject({
      before: { packs: expect.any(Array) },
      after: { packs: [{ objects: expect.any(Number) }], journal_bytes: 0, objects_to_erase: 0 },
    })
    expect(await home.ok('compact')).toMatch(/^Before {2}1 pack, .*\nAfter {3}1 pack, .*\n$/)
    expect((await home.json('status'))['head']).toBe(before['head'])
    await home.ok('verify')
    if (!git.missing) stockGit(['fsck', '--strict'], home.store)
  })
})

describe('expire', () => {
  test(
    'deletes memories that were not changed for long, as an ordinary change',
    { tags: 'slow' },
    async () => {
      const home = await newHomeWithStore()
      await home.ok('create', 'old.md', '--text', 'old')
      await home.ok('create', 'd/old.md', '--text', 'old')
      expect(await home.ok('expire', '--unchanged', '1d')).toBe('Deleted 0 memories\n')
      await setTimeout(1000)
      const dry = await home.ok('expire', '--unchanged', '1s', '--path', 'd', '--dry-run')
      expect(dry).toMatch(/^Would delete 1 memory\n\/d\/old.md\t\d+\t\S+Z\n$/)
      expect(await home.ok('ls', '-R')).toBe('/d/old.md\n/old.md\n')
      const { head } = await home.json('status')
      expect(await home.json('expire', '--unchanged', '1s', '--path', 'd', '--yes')).toMatchObject({
        dry_run: false,
        commit: expect.stringMatching(/^[0-9a-f]{40}$/),
        expired: [{ path: '/d/old.md' }],
        redacted: 0,
      })
      expect(await home.ok('ls', '-R')).toBe('/old.md\n')
      await home.ok('rollback', '--to', String(head))
      expect(await home.ok('ls', '-R')).toBe('/d/old.md\n/old.md\n')
    },
  )

  test('--unread counts from when reading was first recorded', async () => {
    const home = await newHomeWithStore()
    await home.ok('create', 'a.md', '--text', 'a')
    await home.ok('cat', 'a.md')
    expect(await home.ok('expire', '--unread', '30d')).toBe('Deleted 0 memories\n')
  })

  test('--redact-older erases old versions, and only with --yes', { tags: 'slow' }, async () => {
    const home = await newHomeWithStore()
    await home.ok('create', 'a.md', '--text', 'one')
    await home.ok('str-replace', 'a.md', '--old', 'one', '--new', 'two')
    expect(await home.ok('expire', '--redact-older', '0s', '--dry-run')).toMatch(
      /^Would redact 1 old version\n\/a.md\tcreated\t.*\tmemver_\w{26}\n$/,
    )
    const refused = await home.call(['expire', '--redact-older', '0s'])
    expect(refused).toMatchObject({ exitCode: 2, stderr: /add --yes to continue/ })
    expect(await home.json('expire', '--redact-older', '0s', '--yes')).toMatchObject({
      redacted: 1,
      certificate: { reason: 'retention' },
    })
    expect(await home.ok('cat', 'a.md')).toBe('two')
    await home.ok('verify', '--absence')
  })
})

describe('sizes', () => {
  test(
    'status and doctor show packs, journal, caches and objects to erase',
    { tags: 'slow' },
    async () => {
      const home = await newHomeWithStore()
      await home.ok('create', 'a.md', '--text', 'a')
      const text = await home.ok('status', '-v')
      expect(text).toMatch(/^Packs {6}\d+, [\d.]+ kB$/m)
      expect(text).toMatch(/^Caches {5}[\d.]+ k?B, sealed$/m)
      expect(await home.json('status')).toMatchObject({
        storage: {
          pack_bytes: expect.any(Number),
          cache_bytes: expect.any(Number),
          objects_to_erase: 0,
          reclaimable: { erased: { objects: 0, bytes: 0 }, repeated: { objects: 0, bytes: 0 } },
        },
      })
      const checks = await home.ok('doctor')
      expect(checks).toMatch(/^ok {4}Redaction +nothing waits to be erased$/m)
      expect(checks).toMatch(/^ok {4}Reclaimable +none: every object is stored once, and needed$/m)
    },
  )
})

test('of two that make a store in one place at once, one does', { tags: 'slow' }, async () => {
  const home = newHome()
  const all = await Promise.all([1, 2, 3].map(() => home.run(['init', '--no-passphrase'])))
  // One that comes later finds the store of this machine, which is no failure.
  for (const { exitCode, stderr } of all) expect([0, 4], stderr).toContain(exitCode)
  expect(all.filter(({ stdout }) => stdout.includes('GLKR1-'))).toHaveLength(1)
  expect(readdirSync(dirname(home.store))).toEqual([basename(home.store)])
  await home.ok('create', 'a.md', '--text', 'a')
  expect(await home.ok('verify')).toContain('2 commits')
})

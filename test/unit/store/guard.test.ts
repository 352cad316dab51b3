// The guard: which changes it refuses, with which messages, and that it ignores what a memory
// already contained. Tokens are concatenated, so that secret scanners do not report them as leaks.

import { describe, expect, test } from 'vitest'
import { sha256OfText } from '../../../src/crypto/digest.ts'
import { StoreError } from '../../../src/errors.ts'
import type { Author, MemoryStore, Settings } from '../../../src/index.ts'
import type { PlannedRow } from '../../../src/store/commits/new-rows.ts'
import {
  allowedTexts,
  checkGuard,
  type ContentGuard,
  guardOf,
  secretGuard,
  withAllowed,
} from '../../../src/store/guard/guard.ts'
import type { TextState } from '../../../src/store/history/history-diff.ts'
import { author, newStore } from '../../support/stores.ts'

const row = (content: string | undefined, path = '/a.md'): PlannedRow => ({
  memoryId: '01'.repeat(16),
  base: '03'.repeat(16),
  operation: content === undefined ? 'deleted' : 'modified',
  path,
  content,
  size: 0,
  sha256: '',
  created: 0,
})
const aws = ['AKIA', 'QYLPMN5HHHFPZAM2'].join('')
const aws2 = ['AKIA', '2MAZPFHHH5NMPLYQ'].join('')
const github = `ghp_${'aB3dE5gH7jK9'.repeat(3)}`
/** Reports lines without ranges, as a caller's guard may. */
const lineGuard: ContentGuard = (content) =>
  content
    .split('\n')
    .flatMap((line, index) => (line.includes('!') ? [{ rule: 'call', line: index + 1 }] : []))

async function refusal(
  guard: ContentGuard | undefined,
  after: PlannedRow,
  before?: TextState,
  allowed?: readonly string[],
): Promise<unknown> {
  try {
    await checkGuard(guard, [after], () => before, allowed)
    return undefined
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    const { code, message, details } = error
    return { code, message, details }
  }
}

const start = 'The memory would hold sensitive content: '

describe('a change is refused', () => {
  test.each<
    [name: string, after: PlannedRow, before: string | undefined, findings: string, details: object]
  >([
    [
      'that brings a secret',
      row(`a\nb ${aws}\n`),
      'a\n',
      'AWS access key in line 2',
      { path: '/a.md', lines: [2] },
    ],
    [
      'that makes a memory with two',
      row(`${github}\n\n${aws}`),
      undefined,
      'GitHub token in line 1, AWS access key in line 3',
      { path: '/a.md', lines: [1, 3] },
    ],
    [
      'that replaces a secret by another of its kind',
      row(`a\n${aws2}`),
      `a\n${aws}`,
      'AWS access key in line 2',
      { path: '/a.md', lines: [2] },
    ],
    [
      'that repeats one',
      row(`${aws}\n${aws}`),
      aws,
      'AWS access key in line 2',
      { path: '/a.md', lines: [2] },
    ],
    [
      'that puts one in the path, which no error repeats',
      row('a', `/${github}.md`),
      'a',
      'GitHub token in its path',
      { lines: [] },
    ],
    [
      'with too many findings to name all',
      row(`${aws} `.repeat(12)),
      undefined,
      `${'AWS access key in line 1, '.repeat(10).slice(0, -2)} and 2 more`,
      { path: '/a.md', lines: Array.from({ length: 12 }, () => 1) },
    ],
  ])('%s', async (_, after, before, findings, details) => {
    const then = before === undefined ? undefined : { path: '/a.md', content: before }
    const refused = await refusal(secretGuard, after, then)
    // A finding in the path is not for an owner to let through.
    const sha256 = 'path' in details ? { sha256: sha256OfText(after.content ?? '') } : {}
    const whole = { ...details, ...sha256 }
    expect(refused).toEqual({
      code: 'sensitive_content',
      message: start + findings,
      details: whole,
    })
  })

  test('by a guard that knows lines only', async () => {
    const before = { path: '/a.md', content: 'old!\nx' }
    expect(await refusal(lineGuard, row('x\nold!'), before)).toBeUndefined()
    expect(await refusal(lineGuard, row('x\nold! new'), before)).toMatchObject({
      details: { lines: [2] },
    })
  })

  test('if the guard itself fails', async () => {
    const failing: ContentGuard = () => Promise.reject(new RangeError('out of order'))
    await expect(checkGuard(failing, [row('a')], () => undefined)).rejects.toThrow('out of order')
  })
})

describe('a change is allowed', () => {
  test.each<[name: string, after: PlannedRow, before: string]>([
    ['that takes the secret out', row('a'), `a ${aws}`],
    ['that leaves it and edits the rest', row(`# new\n\nb ${aws} c`), `a ${aws}`],
    ['that takes one of two out', row(github), `${aws}\n${github}`],
    ['that renames the memory', row(aws, '/b.md'), aws],
    ['that deletes it', row(undefined), aws],
    ['that has none', row('a'), ''],
  ])('%s', async (_, after, before) => {
    expect(await refusal(secretGuard, after, { path: '/a.md', content: before })).toBeUndefined()
  })

  test('without a guard', async () => {
    expect(await refusal(undefined, row(aws))).toBeUndefined()
  })
})

describe('the reason of a change', () => {
  const reason = `the key ${aws} had leaked`
  const findings = 'The reason of the change would hold sensitive content: AWS access key in line 1'
  const refused = { code: 'sensitive_content', message: findings, details: { parameter: 'reason' } }

  test.each<[name: string, act: (store: MemoryStore, by: Author) => Promise<unknown>]>([
    ['a write', (store, by) => store.as(by).apply([{ type: 'delete', path: '/a' }])],
    ['a rollback', (store, by) => store.as(by).rollback({ to: { time: now } })],
    ['its dry run', (store, by) => store.as(by).rollback({ to: { time: now } }, { dryRun: true })],
    ['an expiry', (store, by) => store.as(by).expire({ unchangedFor: 1 })],
  ])('is refused if it holds a secret: %s', async (_, act) => {
    const store = await guardedStore()
    await expect(act(store, { ...author, reason })).rejects.toMatchObject(refused)
    expect((await store.status()).commits).toBe(3)
    await act(store, { ...author, reason: 'a key had leaked' })
    await store.close()
  })

  test('is checked with an empty path, if the change has one', async () => {
    const asked: string[] = []
    const guard: ContentGuard = (content, path) => {
      asked.push(`${path}: ${content}`)
      return []
    }
    const { store } = await newStore({ guard })
    await store.as(author).apply([{ type: 'create', path: '/a', content: 'text' }])
    await store.as({ ...author, reason: 'why' }).apply([{ type: 'delete', path: '/a' }])
    // So are names and ids: of the store, and of the actor of each change.
    const names = [': agent memory', ': agent-1', ': agent-1']
    expect(asked.toSorted()).toEqual([...names, ': why', '/a: text'].toSorted())
    await store.close()
  })
})

test('a dry run of a revert is refused as the revert is', async () => {
  let clock = now
  const { store } = await newStore({ clock: () => clock })
  await store.as(author).apply([{ type: 'create', path: '/a', content: aws }])
  clock += 1000
  await store.as(author).apply([{ type: 'edit', path: '/a', edit: () => 'safe' }])
  await store.as(author).settings.update({ metadata: { gitlocket_guard: 'secrets' } })
  const to = { time: now }
  for (const dryRun of [true, false]) {
    for (const refused of [
      store.as(author).rollback({ to }, { dryRun }),
      store.as(author).restore({ memory: '/a', to }, { dryRun }),
    ]) {
      await expect(refused).rejects.toMatchObject({ code: 'sensitive_content' })
    }
  }
  await store.close()
})

const now = 1_700_000_000_000

/** A memory with two versions, and the guard. */
async function guardedStore(): Promise<MemoryStore> {
  let clock = now
  const { store } = await newStore({ guard: secretGuard, clock: () => clock })
  await store.as(author).apply([{ type: 'create', path: '/a', content: 'one' }])
  clock += 1000
  await store.as(author).apply([{ type: 'edit', path: '/a', edit: () => 'two' }])
  clock += 1000
  return store
}

describe('a text that an owner has let through', () => {
  const text = `a\nb ${aws}\n`
  const allowed = [sha256OfText(text)]

  test('is no finding, and one that differs is', async () => {
    expect(await refusal(secretGuard, row(text), undefined, allowed)).toBeUndefined()
    expect(await refusal(secretGuard, row(`${text}\n`), undefined, allowed)).toBeDefined()
  })

  test('is a finding under a path that is a secret', async () => {
    const refused = await refusal(secretGuard, row(text, `/${github}.md`), undefined, allowed)
    expect(refused).toMatchObject({ code: 'sensitive_content', details: { lines: [2] } })
  })

  test("is a finding for a program's own guard, which names no hash", async () => {
    const both: ContentGuard = async (content, path) => [
      ...(await secretGuard(content, path)),
      ...(await lineGuard(content, path)),
    ]
    const shouted = `${text}stop!\n`
    const refused = await refusal(both, row(shouted), undefined, [sha256OfText(shouted)])
    expect(refused).toMatchObject({ details: { path: '/a.md', lines: [2, 3] } })
    expect(refused).not.toHaveProperty('details.sha256')
  })

  test('can be edited around the secret', async () => {
    const before = { path: '/a.md', content: text }
    expect(await refusal(secretGuard, row(`${text}more\n`), before, allowed)).toBeUndefined()
  })

  test('passes in a store, and the metadata of a program replace neither', async () => {
    const { store } = await newStore({ refuseSecrets: true })
    const me = store.as(author)
    await me.settings.update(({ metadata }) => ({
      metadata: withAllowed(metadata, sha256OfText(text), true),
    }))
    await me.settings.update({ metadata: { team: 'a' } })
    expect((await store.status()).settings.metadata).toMatchObject({ team: 'a' })
    await expect(me.write('/b.md', `${text}\n`)).rejects.toThrow('AWS access key in line 2')
    await me.write('/a.md', text)
    await store.close()
  })

  test('is kept in the metadata, once, and 60 of them at most', () => {
    const hashes = Array.from({ length: 61 }, (_, index) => sha256OfText(String(index)))
    const pairs: Settings['metadata'] = { team: 'a' }
    const metadata = hashes
      .slice(0, 60)
      .reduce((earlier, sha256) => withAllowed(earlier, sha256, true), pairs)
    expect(allowedTexts({ metadata })).toEqual(hashes.slice(0, 60).toSorted())
    expect(withAllowed(metadata, hashes[0] ?? '', true)).toEqual(metadata)
    const full = { code: 'invalid_input', details: { limit: 60 } }
    expect(() => withAllowed(metadata, hashes[60] ?? '', true)).toThrow(
      expect.objectContaining(full),
    )
    const emptied = hashes.reduce(
      (earlier, sha256) => withAllowed(earlier, sha256, false),
      metadata,
    )
    expect(emptied).toEqual(pairs)
  })
})

describe('which guards apply', () => {
  const settings = { metadata: { gitlocket_guard: 'secrets' } }
  const plain = { metadata: {} }

  test("none, the caller's, or that of the settings", () => {
    expect(guardOf([undefined], plain)).toBeUndefined()
    expect(guardOf([lineGuard], plain)).toBe(lineGuard)
    expect(guardOf([undefined], settings)).toBe(secretGuard)
    expect(guardOf([secretGuard], settings)).toBe(secretGuard)
  })

  test('applies the guard of an author to the memories that the author writes', async () => {
    const { store } = await newStore()
    const guarded = store.as({ ...author, guard: lineGuard })
    const refused = { code: 'sensitive_content' }
    await expect(guarded.write('/a.md', 'Hey!')).rejects.toMatchObject(refused)
    const named = store.as({ actor: { type: 'user', id: aws }, guard: secretGuard })
    await expect(named.write('/a.md', 'a')).rejects.toMatchObject(refused)
    await store.as(author).write('/a.md', 'Hey!')
    await guarded.write('/a.md', 'Hey!\nAnd more')
    await guarded.write('/a.md', '')
  })

  test('both', async () => {
    const both = guardOf([lineGuard], settings)
    expect(await both?.(`${aws}\n!`, '/a.md')).toMatchObject([
      { rule: 'AWS access key', line: 1 },
      { rule: 'call', line: 2 },
    ])
  })
})

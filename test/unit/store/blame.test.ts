// Where the lines of a memory came from: through edits, renames, deletions, restores, redactions.

import { describe, expect, test } from 'vitest'
import type { Author, MemoryStore } from '../../../src/index.ts'
import { type BlameLine, blameLines, type BlameOptions } from '../../../src/store/history/blame.ts'
import { atOnce } from '../../../src/time-slice.ts'
import { historyOf } from '../../support/histories.ts'
import { author, newStore, type TestPlace } from '../../support/stores.ts'

interface Made {
  readonly store: MemoryStore
  readonly place: TestPlace
}

const path = '/notes.md'

/** One version per text; the first creates the memory. An actor of its number writes each. */
async function written(texts: readonly string[]): Promise<Made> {
  const made = await newStore({ limits: { contentBytes: 16 * 2 ** 20 } })
  for (const [index, content] of texts.entries()) {
    const edit = { type: 'edit', path, edit: () => content } as const
    const change = index === 0 ? ({ type: 'create', path, content } as const) : edit
    await made.store.as(numbered(index)).apply([change])
  }
  return made
}

function numbered(index: number): Author {
  return { actor: { type: 'user', id: String(index) } }
}

async function blame(
  { store, place }: Made,
  of: string = path,
  options: BlameOptions = {},
): Promise<readonly BlameLine[]> {
  const read = await historyOf(store, place)
  try {
    return atOnce(blameLines(read.history, read.contents, of, options.at))
  } finally {
    await read.close()
  }
}

/** `0a 1b?`: the author of each line, and whether that is uncertain. */
function short(lines: readonly BlameLine[]): string {
  return lines
    .map(({ line, version, uncertain }) => {
      return `${version.createdBy?.id}${line}${uncertain ? '?' : ''}`
    })
    .join(' ')
}

async function blameOf(texts: readonly string[]): Promise<string> {
  const made = await written(texts)
  const lines = await blame(made)
  await made.store.close()
  return short(lines)
}

describe('a line came from', () => {
  test.each([
    { name: 'the only version', texts: ['a\nb\n'], expected: '0a 0b' },
    { name: 'an insertion', texts: ['a\nc\n', 'a\nb\nc\n'], expected: '0a 1b 0c' },
    { name: 'an edit', texts: ['a\nb\nc\n', 'a\nB\nc\n', 'a\nB\nC\n'], expected: '0a 1B 2C' },
    { name: 'before a removal', texts: ['a\nb\nc\n', 'a\nc\n'], expected: '0a 0c' },
    {
      name: 'the version that brought it back',
      texts: ['a\nb\n', 'a\n', 'a\nb\n'],
      expected: '0a 2b',
    },
    { name: 'nowhere, if there is none', texts: ['a\n', ''], expected: '' },
    { name: 'the one before an empty line', texts: ['\n\n', 'a\n\n\n'], expected: '1a 0 0' },
    {
      name: 'before, though its end was added',
      texts: ['a\nb', 'a\nb\nc\n'],
      expected: '0a 0b 1c',
    },
    { name: 'before, though its end was taken', texts: ['a\nb\n', 'a\nb'], expected: '0a 0b' },
    {
      name: 'before the line ends changed',
      texts: ['a\nb\n', 'a\r\nb\r\nc\r\n'],
      expected: '0a 0b 1c',
    },
    { name: 'one of equal ones', texts: ['x\nx\n', 'x\nx\nx\n'], expected: '0x 0x 1x' },
    {
      name: 'a rewrite of everything',
      texts: ['a\nb\nc\n', 'd\ne\nf\n', 'd\nE\nf\n'],
      expected: '1d 2E 1f',
    },
  ])('$name', async ({ texts, expected }) => {
    expect(await blameOf(texts)).toBe(expected)
  })

  test('a version of the memory, at any path', async () => {
    const made = await written(['a\nb\n'])
    await made.store.as(numbered(1)).apply([{ type: 'rename', path, to: '/d/moved' }])
    await made.store.as(numbered(2)).apply([{ type: 'create', path, content: 'another\n' }])
    const edit = { type: 'edit', path: '/d/moved', edit: () => 'a\nB\n' } as const
    await made.store.as(numbered(3)).apply([edit])
    expect(short(await blame(made, '/d/moved'))).toBe('0a 3B')
    expect(short(await blame(made))).toBe('2another')
    const memory = await made.store.read('/d/moved')
    expect(short(await blame(made, memory?.memoryId))).toBe('0a 3B')
    await made.store.close()
  })

  test('a version before a deletion that was restored', async () => {
    const made = await written(['a\nb\n', 'a\nb\nc\n'])
    const memory = (await made.store.read(path))?.memoryId ?? ''
    const { data: versions } = await made.store.history.versions({ memoryId: memory })
    await made.store.as(numbered(2)).apply([{ type: 'delete', path }])
    const to = { versionId: versions[0]?.versionId ?? '' }
    await made.store.as(numbered(3)).restore({ memory, to })
    expect(short(await blame(made))).toBe('0a 0b 1c')
    await made.store.as(numbered(4)).apply([{ type: 'edit', path, edit: () => 'a\nx\nc\n' }])
    expect(short(await blame(made, memory))).toBe('0a 4x 1c')
    await made.store.close()
  })
})

describe('a redacted version', () => {
  test.each([
    { redact: [0], expected: '1a? 1b? 2c 3d' },
    { redact: [1], expected: '0a 2b? 2c? 3d' },
    { redact: [2], expected: '0a 1b 3c? 3d?' },
    { redact: [0, 1], expected: '2a? 2b? 2c? 3d' },
    { redact: [1, 2], expected: '0a 3b? 3c? 3d?' },
    { redact: [0, 2], expected: '1a? 1b? 3c? 3d?' },
  ])('of $redact makes what came after it uncertain', async ({ redact, expected }) => {
    const made = await written(['a\n', 'a\nb\n', 'a\nb\nc\n', 'a\nb\nc\nd\n'])
    const { data: versions } = await made.store.history.versions({ order: 'oldest' })
    const versionIds = redact.map((index) => versions[index]?.versionId ?? '')
    await made.store.as(author).redact({ select: { versionIds }, reason: 'legal' })
    expect(short(await blame(made))).toBe(expected)
    await made.store.close()
  })

  test('has no effect if an older version has the same text', async () => {
    const made = await written(['a\n', 'a\nb\n'])
    await made.store.as(numbered(2)).apply([{ type: 'rename', path, to: '/moved' }])
    await made.store.as(numbered(3)).apply([{ type: 'rename', path: '/moved', to: path }])
    const { data: versions } = await made.store.history.versions({ path: '/moved' })
    const versionIds = versions.map(({ versionId }) => versionId)
    await made.store.as(author).redact({ select: { versionIds }, reason: 'legal' })
    expect(short(await blame(made))).toBe('0a 1b')
    await made.store.close()
  })

  test('has no lines itself', async () => {
    const made = await written(['a\n', 'b\n'])
    const { data: versions } = await made.store.history.versions({ order: 'oldest' })
    const versionId = versions[0]?.versionId ?? ''
    const { memoryId = '' } = versions[0] ?? {}
    const select = { versionIds: [versionId] }
    await made.store.as(author).redact({ select, reason: 'legal' })
    await expect(blame(made, memoryId, { at: { versionId } })).rejects.toThrow(
      expect.objectContaining({ code: 'redacted' }),
    )
    await made.store.close()
  })
})

describe('at an earlier point', () => {
  test('the lines are those of the asked time', async () => {
    const made = await written(['a\n', 'a\nb\n', 'x\n'])
    await made.store.as(author).apply([{ type: 'delete', path }])
    const { data: versions } = await made.store.history.versions({ order: 'oldest' })
    const at = { versionId: versions[1]?.versionId ?? '' }
    expect(short(await blame(made, path, { at }))).toBe('0a 1b')
    for (const of of [path, versions[0]?.memoryId]) {
      await expect(blame(made, of)).rejects.toThrow(expect.objectContaining({ code: 'not_found' }))
    }
    await made.store.close()
  })

  test.each([
    { of: '/other', code: 'not_found' },
    { of: 'mem_00000000000000000000000000', code: 'not_found' },
    { of: 'mem_1', code: 'invalid_input' },
    { of: 'notes.md', code: 'invalid_path' },
  ])('$of is refused as $code', async ({ of, code }) => {
    const made = await written(['a\n'])
    await expect(blame(made, of)).rejects.toThrow(expect.objectContaining({ code }))
    await made.store.close()
  })

  test('before the memory existed, nothing is found', async () => {
    const made = await written(['a\n'])
    const { memoryId = '' } = (await made.store.read(path)) ?? {}
    const read = await historyOf(made.store, made.place)
    const at = { commit: read.history.commits.at(0)?.oid ?? '' }
    await read.close()
    await expect(blame(made, memoryId, { at })).rejects.toThrow(
      expect.objectContaining({ code: 'not_found' }),
    )
    await made.store.close()
  })
})

test('twenty versions of 100,000 lines take seconds', { tags: 'slow' }, async () => {
  const lines = Array.from({ length: 100_000 }, (_, n) => `line ${n % 500}`)
  const texts = Array.from({ length: 20 }, (_, n) => {
    lines.splice(n * 4999, 3, `new ${n}`)
    return `${lines.join('\n')}\n`
  })
  const made = await written(texts)
  const started = performance.now()
  const found = await blame(made)
  expect(performance.now() - started).toBeLessThan(20_000)
  expect(found.map(({ line }) => `${line}\n`).join('')).toBe(texts.at(-1))
  const fresh = found.filter(({ line }) => line.startsWith('new'))
  expect(fresh.map(({ line, version }) => line === `new ${version.createdBy?.id}`)).toEqual(
    fresh.map(() => true),
  )
  await made.store.close()
})

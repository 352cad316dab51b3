// The list of what a transition erases: its bytes, whether a history contains the transition, and
// what becomes of a list whose transition it does not contain.

import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { systemRandom } from '../../../src/crypto/random.ts'
import { systemDisk } from '../../../src/disk/system-disk.ts'
import { StoreError } from '../../../src/errors.ts'
import type { GitObject, Oid } from '../../../src/git/objects/object.ts'
import { OidList } from '../../../src/git/objects/oid-list.ts'
import {
  decodeIntent,
  encodeIntent,
  fatesOf,
  openIntent,
  type PurgeIntent,
} from '../../../src/git/purge/purge-intent.ts'
import { PurgeIntents } from '../../../src/git/purge/purge-intents.ts'
import { testSecret } from '../../support/erasure.ts'
import { temporaryDirectory } from '../../support/temporary.ts'

const name = 'purge-0123456789abcdef'

/** An oid for a letter. */
function id(letter: string): Oid {
  return Buffer.from(letter).toString('hex').repeat(20)
}

function intent(expected: string, next: string, dead: string): PurgeIntent {
  const list = OidList.of([...dead].map(id))
  return {
    name: `${expected}${next}`,
    expected: id(expected),
    next: id(next),
    packs: [],
    dead: list,
  }
}

/** `a<b` means that b is the parent of a. */
function historyOf(...chains: readonly string[]): (oid: Oid) => GitObject | undefined {
  const parents = new Map<Oid, Oid | undefined>()
  for (const chain of chains) {
    const letters = chain.split('<')
    for (const [n, letter] of letters.entries()) {
      const parent = letters[n + 1]
      if (parent !== undefined || !parents.has(id(letter))) {
        parents.set(id(letter), parent === undefined ? undefined : id(parent))
      }
    }
  }
  return (oid) => {
    if (!parents.has(oid)) return undefined
    const parent = parents.get(oid)
    const lines = [`tree ${id('t')}`, ...(parent === undefined ? [] : [`parent ${parent}`]), '']
    return { type: 'commit', body: Buffer.from(lines.join('\n')) }
  }
}

describe('an intent', () => {
  const packs = [`pack-${id('p')}`, `pack-${id('q')}`]
  const whole: PurgeIntent = { ...intent('c', 'z', 'bcx'), name, packs }
  const bytes = encodeIntent(whole, testSecret)

  test('decodes to its contents', () => {
    expect(decodeIntent(name, bytes)).toEqual(whole)
    expect(openIntent(name, bytes, testSecret)).toEqual(whole)
  })

  test('is refused with any byte changed or missing', () => {
    for (let at = 0; at < bytes.length; at += 1) {
      const changed = bytes.with(at, (bytes[at] ?? 0) ^ 1)
      for (const wrong of [changed, bytes.subarray(0, at)]) {
        expect(() => decodeIntent(name, wrong)).toThrow(StoreError)
        expect(() => decodeIntent(name, wrong)).toThrow('doctor --repair')
      }
    }
  })

  test('is refused with dead objects out of order', () => {
    const dead = new OidList(Buffer.from(id('x') + id('b'), 'hex'))
    expect(() => decodeIntent(name, encodeIntent({ ...whole, dead }, testSecret))).toThrow(
      'damaged',
    )
  })
})

describe('an intent of another device', () => {
  const bytes = encodeIntent(intent('c', 'z', 'bcx'), testSecret.with(0, 8))

  test.each([
    ['another secret', testSecret],
    ['none', undefined],
  ])('is foreign to %s', (_, own) => {
    expect(openIntent(name, bytes, own)).toBe('foreign')
  })
})

describe('the fate of an intent', () => {
  // a<b<c was the history; z<y<a is the one without b.
  const first = intent('c', 'z', 'bc')
  const history = historyOf('f<e<c<b<a', 'x<w<z<y<a', 'v<u<a', 'k')
  test.each<[state: string, head: string, fate: string | undefined]>([
    ['at its start', 'c', 'absent'],
    ['further along the old history', 'f', 'absent'],
    ['before its start, but inside of what it erases', 'b', 'absent'],
    ['at its end', 'z', 'committed'],
    ['further along the new history', 'x', 'committed'],
    ['before anything that it erases', 'a', undefined],
    ['in a history that has nothing to do with it', 'k', undefined],
    ['at a commit that is missing', 'm', undefined],
  ])('with the head %s', (_, head, fate) => {
    expect(fatesOf(id(head), [first], history).get(first)).toBe(fate)
  })

  test('follows from a later one that erased its outcome', () => {
    const second = intent('x', 'v', 'wxyz')
    const both = [first, second]
    expect([...fatesOf(id('v'), both, history).values()]).toEqual(['committed', 'committed'])
    expect(fatesOf(id('x'), both, history).get(first)).toBe('committed')
    expect(fatesOf(id('x'), both, history).get(second)).toBe('absent')
    expect([...fatesOf(id('c'), both, history).values()]).toEqual(['absent'])
  })
})

describe('the intents of a store', () => {
  const transition = { expected: id('c'), next: id('z'), objects: [] }
  const pack = `pack-${id('p')}`

  /** With one that brings a pack, in a store whose histories are these. */
  async function written(): Promise<{ intents: PurgeIntents; files: () => readonly string[] }> {
    const directory = temporaryDirectory()
    const packDirectory = join(directory, 'pack')
    mkdirSync(packDirectory)
    for (const end of ['idx', 'pack']) writeFileSync(join(packDirectory, `${pack}.${end}`), '')
    const intents = new PurgeIntents({
      disk: systemDisk,
      ownDirectory: directory,
      packDirectory,
      random: systemRandom,
      secret: testSecret,
      read: historyOf('f<e<c<b<a', 'z<y<a'),
      fenceJournal: async () => undefined,
    })
    await intents.write(transition, OidList.of(['b', 'c'].map(id)), [pack])
    return { intents, files: () => readdirSync(packDirectory) }
  }

  test.each([
    ['removed, at the head that it was to replace', 'c', 0],
    ['kept, at a head to which another program has moved the branch', 'f', 2],
  ])('cancel what was never committed: its packs are %s', async (_, head, left) => {
    const { intents, files } = await written()
    expect(await intents.settle(id(head))).toBe(false)
    expect(intents.cancelled).toBe(1)
    expect(files()).toHaveLength(left)
  })

  test('keep a committed erasure, though another program moves the branch back', async () => {
    const { intents, files } = await written()
    expect(intents.pending(id('z'))).toBe(2)
    // Another one, that was never committed.
    await intents.write({ ...transition, next: id('x') }, OidList.of([id('b')]), [])
    expect(await intents.settle(id('c'))).toBe(true)
    expect(intents.cancelled).toBe(1)
    expect(files()).toHaveLength(2)
    expect(intents.due(id('z')).map(({ next }) => next)).toEqual([id('z')])
  })
})

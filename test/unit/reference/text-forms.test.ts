// FORMAT §1 and §2.1 as the reference decoder implements them: text forms and the radix tree.

import { describe, expect, test } from 'vitest'
import {
  formatId,
  formatIdentity,
  formatRecoveryKey,
  parseId,
  parseIdentity,
  parseRecoveryKey,
} from '../../support/reference/identity.ts'
import { buildRadixTree, decodeTree, gitOid } from '../../support/reference/tree.ts'

const bytes = (length: number, first: number) =>
  Uint8Array.from({ length }, (_, i) => (first + i * 37) % 256)

describe('ids', () => {
  test.each([
    ['zero', '0'.repeat(32), `mem_${'0'.repeat(26)}`],
    ['the greatest', 'f'.repeat(32), `mem_7${'z'.repeat(25)}`],
    ['one', `${'0'.repeat(31)}1`, `mem_${'0'.repeat(25)}1`],
  ])('%s has its text form', (_, hex, text) => {
    expect(formatId('memory', hex)).toBe(text)
    expect(parseId('memory', text)).toBe(hex)
  })

  test.each([
    ['another prefix', `dev_${'0'.repeat(26)}`],
    ['a first digit above 7', `mem_8${'0'.repeat(25)}`],
    ['upper case', `mem_7${'Z'.repeat(25)}`],
    ['25 digits', `mem_${'0'.repeat(25)}`],
    ['27 digits', `mem_${'0'.repeat(27)}`],
    ['a newline', `mem_${'0'.repeat(26)}\n`],
  ])('with %s are refused', (_, text) => {
    expect(() => parseId('memory', text)).toThrow(/^invalid_input: /)
  })
})

describe('identity text', () => {
  const identity = {
    signingSeed: bytes(32, 1),
    kemSeed: bytes(32, 2),
    localSecret: bytes(32, 3),
  }
  const text = formatIdentity(identity)

  test('has a prefix and 160 characters', () => {
    expect(text).toMatch(/^GITLOCKET-IDENTITY-1-[0-9A-HJKMNP-TV-Z]{160}$/)
  })

  test.each([
    ['as written', text],
    ['in lower case', text.toLowerCase()],
    ['with I and L for 1, and O for 0', lookAlikes(text)],
    ['with spaces and hyphens', `${text.slice(0, 40)} - ${text.slice(40)}`],
    ['in a file with comments', `# a device\n\n${text}\n`],
  ])('reads %s', (_, typed) => {
    expect(parseIdentity(typed)).toEqual(identity)
  })

  test.each([
    ['a changed character', text.slice(0, -1) + (text.endsWith('0') ? '2' : '0')],
    ['a missing character', text.slice(0, -1)],
    ['another prefix', text.replace('-1-', '-2-')],
    ['two identities', `${text}\n${text}`],
    ['nothing', '# nothing\n'],
    ['the letter U', `${text.slice(0, -1)}U`],
  ])('refuses %s', (_, typed) => {
    expect(() => parseIdentity(typed)).toThrow(/^invalid_identity: /)
  })
})

describe('recovery key text', () => {
  const key = bytes(32, 9)
  const text = formatRecoveryKey(key)

  test('has a prefix and eight groups of seven', () => {
    expect(text).toMatch(/^GLKR1(-[0-9A-HJKMNP-TV-Z]{7}){8}$/)
  })

  test.each([
    ['as written', text],
    ['without hyphens', `GLKR1-${text.slice(6).replaceAll('-', '')}`],
    ['in lower case', text.toLowerCase()],
    ['with look-alikes', lookAlikes(text)],
  ])('reads %s', (_, typed) => {
    expect(parseRecoveryKey(typed)).toEqual(key)
  })

  test('refuses every changed digit', () => {
    for (let i = 6; i < text.length; i++) {
      if (text[i] === '-') continue
      const changed = text.slice(0, i) + (text[i] === '7' ? '8' : '7') + text.slice(i + 1)
      expect(() => parseRecoveryKey(changed)).toThrow(/^invalid_identity: /)
    }
  })
})

/** Misspells the digits after the prefix. */
function lookAlikes(text: string): string {
  const prefix = text.startsWith('GLKR1-') ? 6 : 'GITLOCKET-IDENTITY-1-'.length
  const digits = text.slice(prefix).replaceAll('1', 'l').replaceAll('0', 'o').replace('l', 'I')
  return text.slice(0, prefix) + digits
}

/** Ids that spread over the first digit. */
function ids(count: number): string[] {
  return Array.from(
    { length: count },
    (_, i) => (i % 16).toString(16) + i.toString(16).padStart(31, '0'),
  )
}

describe('the radix tree', () => {
  const oid = gitOid('blob', new Uint8Array())
  const shape = (memories: readonly string[]) => {
    const built = buildRadixTree(new Map(memories.map((id) => [id, oid])))
    return built === undefined
      ? undefined
      : decodeTree(built.trees.get(built.root) ?? new Uint8Array())
  }

  test('is absent without memories', () => {
    expect(shape([])).toBeUndefined()
  })

  test('lists 16 memories flat', () => {
    const entries = shape(ids(16))
    expect(entries?.map((e) => e.name)).toEqual(ids(16).toSorted())
    expect(entries?.every((e) => e.mode === '100644')).toBe(true)
  })

  test('has a directory per first digit with 17', () => {
    const entries = shape(ids(17))
    expect(entries?.map((e) => e.name).join('')).toBe('0123456789abcdef')
    expect(entries?.every((e) => e.mode === '40000')).toBe(true)
  })

  test('descends as long as 17 share a digit', () => {
    const close = Array.from({ length: 17 }, (_, i) => `aaaa${i.toString(16).padStart(28, '0')}`)
    expect(shape(close)?.map((e) => `${e.mode} ${e.name}`)).toEqual(['40000 a'])
  })

  test('does not depend on the order of insertion', () => {
    const forward = buildRadixTree(new Map(ids(40).map((id) => [id, oid])))
    const backward = buildRadixTree(
      new Map(
        ids(40)
          .toReversed()
          .map((id) => [id, oid]),
      ),
    )
    expect(backward?.root).toBe(forward?.root)
  })
})

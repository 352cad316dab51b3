// FORMAT §1 and §2.1 as the reference decoder implements them: text forms and the radix tree.

import { describe, expect, test } from 'vitest'
import { concat, toHex, utf8, zeros } from '../../support/reference/bytes.ts'
import { formatDeviceCard, parseDeviceCard } from '../../support/reference/device-card.ts'
import {
  checksum,
  formatId,
  formatIdentity,
  formatOperatorSecret,
  formatRecoveryKey,
  memoryIdOf,
  parseId,
  operatorRecoveryKeys,
  parseIdentity,
  parseOperatorSecret,
  parseRecoveryKey,
  toBase32,
  versionIdOf,
} from '../../support/reference/identity.ts'
import { parseStoreFile, storeFile } from '../../support/reference/public-files.ts'
import { publicKeyOf, sign } from '../../support/reference/signature.ts'
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

  test('of a row follow from store, record and index', () => {
    // Computed by Python's hashlib.
    const [storeId, record] = ['ab'.repeat(16), 'cd'.repeat(32)]
    expect(versionIdOf(storeId, record, 0)).toBe('fc85f5397ed25400d0cad79ea314e5ec')
    expect(versionIdOf(storeId, record, 258)).toBe('4d454f33c37ca570e79f9430bcc4029f')
    expect(memoryIdOf(storeId, record, 0)).toBe('9b6d0b8c2ae5034a3ce3aed14d449fa8')
    expect(memoryIdOf(storeId, record, 258)).toBe('a03ddc99b37f3dc25f702a4902747864')
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
    ['with other white space', `${text.slice(0, 40)}\t\u00a0\u2028\ufeff${text.slice(40)}`],
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

const storeId = '00112233445566778899aabbccddeeff'

describe.each([
  {
    form: 'recovery key',
    text: formatRecoveryKey(storeId, bytes(32, 9)),
    parse: parseRecoveryKey,
    secret: { storeEnd: 'bbccddeeff', key: bytes(32, 9) },
    shape: /^GLKR1(-[0-9A-HJKMNP-TV-Z]{8}){8}$/,
  },
  {
    form: 'operator secret',
    text: formatOperatorSecret(bytes(32, 9)),
    parse: parseOperatorSecret,
    secret: bytes(32, 9),
    shape: /^GLKO1(-[0-9A-HJKMNP-TV-Z]{7}){8}$/,
  },
])('$form text', ({ text, parse, secret, shape }) => {
  test('has a prefix and eight groups', () => {
    expect(text).toMatch(shape)
  })

  test.each([
    ['as written', text],
    ['without hyphens', text.slice(0, 6) + text.slice(6).replaceAll('-', '')],
    ['in lower case', text.toLowerCase()],
    ['with look-alikes', lookAlikes(text)],
  ])('reads %s', (_, typed) => {
    expect(parse(typed)).toEqual(secret)
  })

  test('refuses every changed digit', () => {
    for (let i = 6; i < text.length; i++) {
      if (text[i] === '-') continue
      const changed = text.slice(0, i) + (text[i] === '7' ? '8' : '7') + text.slice(i + 1)
      expect(() => parse(changed)).toThrow(/^invalid_identity: /)
    }
  })
})

test('a recovery key begins with the end of its store’s id', () => {
  const end = formatId('store', storeId).slice(-8).toUpperCase()
  expect(formatRecoveryKey(storeId, bytes(32, 9)).split('-')[1]).toBe(end)
})

test('an operator secret gives each store 16 other recovery keys', () => {
  const seeds = ['00'.repeat(16), 'ab'.repeat(16)]
  const keys = seeds.flatMap((seed) => operatorRecoveryKeys(bytes(32, 9), seed))
  expect(new Set(keys.map(toHex)).size).toBe(32)
})

describe('device card text', () => {
  const identity = {
    signingSeed: bytes(32, 1),
    kemSeed: bytes(32, 2),
    localSecret: bytes(32, 3),
  }
  const text = formatDeviceCard(identity, 'naïve ☃')
  const prefix = 'GITLOCKET-DEVICE-1-'
  const lines = text.replaceAll(/.{64}/g, '$&\n')

  test('has a prefix and 2,616 characters', () => {
    expect(text).toMatch(/^GITLOCKET-DEVICE-1-[0-9A-HJKMNP-TV-Z]{2616}$/)
  })

  test.each([
    ['as written', text],
    ['in lines, with comments', `# a device\n${lines}\n# its end\n`],
    ['in lines of another system', lines.replaceAll('\n', '\r\n')],
    ['in lower case', text.toLowerCase()],
  ])('reads %s', (_, typed) => {
    const card = parseDeviceCard(typed)
    expect(card.name).toBe('naïve ☃')
    expect(card.signingKey).toEqual(publicKeyOf(identity.signingSeed))
    expect(card.kemKey.length).toBe(1216)
  })

  test('reads no name', () => {
    expect(parseDeviceCard(formatDeviceCard(identity, '')).name).toBe('')
  })

  /** A card that a key has signed twice, whatever it says. */
  function signed(kemKey: Uint8Array, name: Uint8Array, how: Partial<Signing> = {}): string {
    const { key = publicKeyOf(identity.signingSeed), keys = key, byKey, byCard } = how
    const seed = identity.signingSeed
    const keysMessage = concat(utf8('GLK1/device-keys/v1\0'), keys, kemKey)
    const keySignature = sign(keysMessage, byKey ?? seed)
    const body = concat(key, kemKey, keySignature, name, zeros(256 - name.length))
    const card = concat(body, sign(concat(utf8('GLK1/device-card/v1\0'), body), byCard ?? seed))
    const whole = concat(card, checksum('GLK1/device-card-text/v1', card, 3))
    return prefix + toBase32(whole, 2616)
  }

  const { kemKey } = parseDeviceCard(text)
  const resigned = (name: string, how: Partial<Signing> = {}): string =>
    signed(kemKey, utf8(name), how)

  test.each([
    ['invalid_input', 'a changed character', text.slice(0, -1) + other(text.slice(-1))],
    ['invalid_input', 'a name with a control character', resigned('a\u0007')],
    ['invalid_input', 'a name with a zero in it', resigned('a\0b')],
    ['invalid_input', 'a name with a line separator', resigned('a\u2028b')],
    ['invalid_input', 'a name that ends with a wide space', resigned('a\u3000')],
    ['invalid_input', 'a name with a format character', resigned('a\u200db')],
    ['invalid_input', 'a name that begins with white space', resigned('\u00a0a')],
    ['invalid_input', 'a name of 65 characters', resigned('a'.repeat(65))],
    ['invalid_input', 'a name that is not UTF-8', signed(kemKey, Uint8Array.of(0xff))],
    ['invalid_input', 'an X-Wing key of no use', signed(zeros(1216).fill(255), utf8('a'))],
    ['invalid_input', 'an X25519 key of small order', signed(lowOrder(), utf8('a'))],
    ['invalid_input', 'a card signature of another key', resigned('a', { byCard: bytes(32, 5) })],
    ['invalid_input', 'a key signature of another key', resigned('a', { byKey: bytes(32, 5) })],
    ['invalid_input', 'a key signature over another key', resigned('a', { keys: bytes(32, 5) })],
    ['invalid_input', 'another key', resigned('a', { key: publicKeyOf(bytes(32, 5)) })],
  ])('is refused as %s with %s', (kind, _, typed) => {
    expect(() => parseDeviceCard(typed)).toThrow(new RegExp(`^${kind}: `))
  })

  test('reads a name that is decomposed', () => {
    expect(parseDeviceCard(resigned('e\u0301')).name).toBe('e\u0301')
  })

  function other(digit: string): string {
    return digit === '7' ? '8' : '7'
  }

  function lowOrder(): Uint8Array {
    return concat(kemKey.slice(0, 1184), zeros(32))
  }
})

/** What is signed and by which seed, where it is not the identity's. */
interface Signing {
  readonly key: Uint8Array
  readonly keys: Uint8Array
  readonly byKey: Uint8Array
  readonly byCard: Uint8Array
}

describe('store.json', () => {
  const text = new TextDecoder().decode(storeFile(storeId))

  test('names the store', () => {
    expect(text).toBe(`{"format":"gitlocket/1","store":"${formatId('store', storeId)}"}\n`)
    expect(parseStoreFile(utf8(text))).toBe(storeId)
  })

  test.each([
    ['upgrade_required', 'the format 1 of before', text.replace('"gitlocket/1"', '1')],
    ['upgrade_required', 'a later format', text.replace('/1', '/2')],
    ['upgrade_required', 'the format of something else', text.replace('gitlocket/1', 'other/1')],
    ['upgrade_required', 'a later format in another order', '{ "x": [], "format": 2 }'],
    ['not_a_store', 'a format that is no text', text.replace('"gitlocket/1"', 'null')],
    ['not_a_store', 'no object', '["format"]'],
    ['not_a_store', 'no JSON', '{"format":2'],
    ['not_a_store', 'no id of a store', text.replace('memstore_', 'memstore_z')],
    ['not_a_store', 'a field more', text.replace('}', ',"x":1}')],
    ['not_a_store', 'no newline', text.trim()],
  ])('is refused as %s with %s', (kind, _, altered) => {
    expect(() => parseStoreFile(utf8(altered))).toThrow(new RegExp(`^${kind}: `))
  })
})

/** Misspells the digits after the prefix. */
function lookAlikes(text: string): string {
  const prefix = text.startsWith('GLK') ? 6 : 'GITLOCKET-IDENTITY-1-'.length
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

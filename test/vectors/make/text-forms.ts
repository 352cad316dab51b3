// Vectors of what people and programs write as text: ids, paths, identities, recovery keys,
// operator secrets, device cards, the public store file. FORMAT §1, §2, §5.2.

import { concatBytes, label, toHex } from '../../../src/bytes.ts'
import { hash256 } from '../../../src/crypto/digest.ts'
import { sign } from '../../../src/crypto/signature.ts'
import { formatStateOf } from '../../../src/format/address.ts'
import { encodeBase32 } from '../../../src/format/base32.ts'
import { formatDeviceCard } from '../../../src/format/device-card.ts'
import { signDeviceKeys } from '../../../src/format/device-keys.ts'
import { formatId, type IdKind } from '../../../src/format/id.ts'
import {
  formatIdentity,
  formatRecoveryKey,
  generateIdentity,
  generateOperatorSecret,
  type Identity,
} from '../../../src/keys/identity.ts'
import { withKem } from '../../support/forge-fault.ts'
import { countingRandom, idOf, put } from '../../support/forge-seal.ts'
import type { Group, Vector } from '../vector.ts'

const storeId = idOf('store')
const seed = idOf('seed')

export async function textForms(): Promise<Partial<Record<Group, readonly Vector[]>>> {
  return {
    ids: ids(),
    addresses: addresses(),
    words: words(),
    paths: paths(),
    identities: await identities(),
    'recovery-keys': recoveryKeys(),
    'operator-secrets': await operatorSecrets(),
    'device-cards': await deviceCards(),
    'store-files': storeFiles(),
  }
}

function ids(): readonly Vector[] {
  const kinds: readonly IdKind[] = ['store', 'memory', 'version', 'device']
  const digits = formatId('memory', idOf('vector')).slice(4)
  const accepted = kinds.map((kind) =>
    idVector('accepted', `a ${kind}`, kind, formatId(kind, idOf(kind))),
  )
  const faults: readonly (readonly [name: string, text: string])[] = [
    ['the prefix of another kind', `memver_${digits}`],
    ['no prefix', digits],
    ['an upper-case letter', `mem_${digits.toUpperCase()}`],
    ['25 digits', `mem_${digits.slice(1)}`],
    ['27 digits', `mem_0${digits}`],
    ['a first digit above 7', `mem_8${digits.slice(1)}`],
    ['the letter i', `mem_${digits.slice(0, -1)}i`],
    ['the letter l', `mem_${digits.slice(0, -1)}l`],
    ['the letter o', `mem_${digits.slice(0, -1)}o`],
    ['the letter u', `mem_${digits.slice(0, -1)}u`],
    ['a space at the end', `mem_${digits} `],
    ['a line break at the end', `mem_${digits}\n`],
    ['nothing', ''],
  ]
  const extremes = ['00', 'ff'].map((byte) =>
    idVector('accepted', `bytes ${byte}`, 'memory', formatId('memory', byte.repeat(16))),
  )
  const refused = faults.map(([name, text]) => idVector('invalid_input', name, 'memory', text))
  return [...accepted, ...extremes, ...refused]
}

function idVector(expect: string, name: string, kind: IdKind, text: string): Vector {
  return { name, clause: '1.1', expect, kind, text }
}

function addresses(): readonly Vector[] {
  const id = formatId('store', storeId)
  const state = formatStateOf(storeId, hash256(new Uint8Array(1)))
  const of = (expect: string, name: string, text: string): Vector => {
    return { name, clause: '1.8', expect, text }
  }
  return [
    of('accepted', 'a store', `https://host.example/store.git#${id}`),
    of('accepted', 'a store and a state', `git@host.example:store.git#${state}`),
    of('accepted', 'a path with a number sign', `/srv/#1/store.git#${state}`),
    of('invalid_input', 'no state after the plus', `/srv/store.git#${id}+`),
    of('invalid_input', '25 digits of a state', `/srv/store.git#${state.slice(0, -1)}`),
    of('invalid_input', 'a state with a prefix', `/srv/store.git#${id}+${id}`),
    of('invalid_input', 'two states', `/srv/store.git#${state}${state.slice(-27)}`),
    of('invalid_input', 'a digit that is none', `/srv/store.git#${state.slice(0, -1)}u`),
    of('invalid_input', 'half an id', `/srv/store.git#${id.slice(0, -1)}`),
  ]
}

function words(): readonly Vector[] {
  return [0, 1, 255].map((byte) => {
    const record = toHex(hash256(Uint8Array.of(byte)))
    const name = `of the hash of byte ${byte}`
    return { name, clause: '9.2', expect: 'accepted', storeId, record }
  })
}

function paths(): readonly Vector[] {
  return [
    ...pathVectors('accepted', [
      ['one segment', '/a'],
      ['20 segments', '/a'.repeat(20)],
      ['1,024 bytes', `/${'a'.repeat(1023)}`],
      ['1,024 bytes of wide characters', `/${'ä'.repeat(511)}b`],
      ['a leading dot', '/.a'],
      ['three dots', '/...'],
      ['spaces', '/ a /  '],
      ['punctuation', '/a\\b:c*d?e"f<g>h|i~'],
      ['NFC', '/é'],
      ['an emoji', '/🦉'],
      ['a name like the reserved one', '/.anthropic-memory-store2'],
      ['the reserved name below', '/a/.anthropic-memory-store'],
      ['NFD', '/e\u0301'],
      ['a compatibility form that is not NFC', '/\u2126'],
      ['a character that is not assigned', '/\u0378'],
      [
        'characters beside forbidden ones',
        '/\u034e\u0350\u0606\u115e\u1161\u17b3\u17b6\u180a\u2010\u2027\u202f\u205f\u2070' +
          '\u27ff\u2801\u3163\u3165\ufdff\ufe10\uff9f\uffa1\uffef\ufffc\u{1bca4}\u{e1000}',
      ],
      ['an emoji without a selector', '/\u2764'],
    ]),
    ...pathVectors('invalid_path', [
      ['nothing', ''],
      ['no slash', 'a'],
      ['the root', '/'],
      ['an empty segment', '/a//b'],
      ['a slash at the end', '/a/'],
      ['a dot', '/.'],
      ['two dots', '/a/../b'],
      ['21 segments', '/a'.repeat(21)],
      ['1,025 bytes', `/${'a'.repeat(1024)}`],
      ['1,025 bytes of wide characters', `/${'ä'.repeat(512)}`],
      ['NUL', '/a\0'],
      ['a tab', '/a\tb'],
      ['DEL', '/a\u007f'],
      ['a C1 control', '/a\u0085'],
      ['a soft hyphen', '/a\u00adb'],
      ['a zero-width space', '/a\u200bb'],
      ['a right-to-left override', '/a\u202eb'],
      ['a line separator', '/a\u2028b'],
      ['a paragraph separator', '/a\u2029b'],
      ['a byte-order mark', '/a\ufeffb'],
      ['a language tag', '/a\u{e0061}b'],
      ['an Arabic number sign', '/a\u0605b'],
      ['a mark of a digit that is not shown', '/a\u{1bca3}b'],
      ['a variant of a hieroglyph', '/a\u{1343f}b'],
      ['an emoji with a selector', '/\u2764\ufe0f'],
      ['the first variation selector', '/a\ufe00b'],
      ['a variation selector of the supplement', '/a\u{e0100}b'],
      ['the last variation selector of the supplement', '/a\u{e01ef}b'],
      ['a combining grapheme joiner', '/a\u034fb'],
      ['a Hangul filler', '/a\u3164b'],
      ['a half-width Hangul filler', '/a\uffa0b'],
      ['a filler of an initial consonant', '/a\u115fb'],
      ['a filler of a vowel', '/a\u1160b'],
      ['an inherent vowel of Khmer', '/a\u17b5b'],
      ['a selector of Mongolian', '/a\u180bb'],
      ['the last selector of Mongolian', '/a\u180fb'],
      ['a blank of Braille', '/a\u2800b'],
      ['an ignorable that is not assigned', '/a\u2065b'],
      ['an ignorable among the specials', '/a\ufff0b'],
      ['the first of plane 14', '/a\u{e0000}b'],
      ['the last of the ignorables of plane 14', '/a\u{e0fff}b'],
      ['the reserved name', '/.anthropic-memory-store'],
    ]),
  ]
}

function pathVectors(
  expect: string,
  list: readonly (readonly [name: string, text: string])[],
): readonly Vector[] {
  return list.map(([name, text]) => ({ name, clause: '5.2', expect, text }))
}

/** Of keys, as people type them. */
function typed(expect: string, name: string, text: string): Vector {
  return { name, clause: '1.3', expect, text }
}

function storeFile(expect: string, name: string, text: string): Vector {
  return { name, clause: '2', expect, text }
}

async function identities(): Promise<readonly Vector[]> {
  const identity = await generateIdentity(countingRandom('identity vector'))
  const file = formatIdentity(identity)
  const line = file.split('\n')[1] ?? ''
  return [
    typed('accepted', 'a file', file),
    typed('accepted', 'the line alone', line),
    typed('accepted', 'lower case', line.toLowerCase()),
    typed('accepted', 'hyphens and spaces', line.replaceAll(/(?<=1-.*)(.{8})/g, '$1- ')),
    typed('accepted', 'comments and blank lines', `# a\n\n  \n${line}\n# b\n`),
    typed('accepted', 'line ends of two characters', `# a\r\n${line}\r\n`),
    typed('accepted', 'letters for digits', letters(line)),
    typed('invalid_identity', 'nothing', ''),
    typed('invalid_identity', 'comments alone', '# a\n'),
    typed('invalid_identity', 'two', `${line}\n${line}\n`),
    typed('invalid_identity', 'another prefix', line.replace('IDENTITY-1', 'IDENTITY-2')),
    typed('invalid_identity', 'a dotless i in the prefix', line.replace('I', '\u0131')),
    typed('invalid_identity', 'a Kelvin sign for K', line.replace(/(?<=1-.*)K/, '\u212a')),
    typed('invalid_identity', 'one character changed', changeLast(line)),
    typed('invalid_identity', 'one character missing', line.slice(0, -1)),
    typed('invalid_identity', 'one character more', `${line}0`),
    typed('invalid_identity', 'a letter that is no digit', `${line.slice(0, -1)}U`),
    typed('invalid_identity', 'a recovery key', formatRecoveryKey(storeId, new Uint8Array(32))),
  ]
}

/** Text that is of one store. */
function ofStore(expect: string, name: string, text: string, of: string = storeId): Vector {
  return { ...typed(expect, name, text), storeId: of }
}

function recoveryKeys(): readonly Vector[] {
  const key = countingRandom('recovery vector')(32)
  const text = formatRecoveryKey(storeId, key)
  const zeros = '00'.repeat(16)
  const sameEnd = 'ab'.repeat(11) + storeId.slice(22)
  return [
    ofStore('accepted', 'as it is printed', text),
    ofStore('accepted', 'zeros', formatRecoveryKey(zeros, new Uint8Array(32)), zeros),
    ofStore('accepted', 'of another store', formatRecoveryKey(idOf('other'), key)),
    ofStore('accepted', 'of a store whose id ends like this one', formatRecoveryKey(sameEnd, key)),
    ofStore('accepted', 'lower case', text.toLowerCase()),
    ofStore('accepted', 'without hyphens', text.replaceAll(/(?<=GLKR1-.*)-/g, '')),
    ofStore('accepted', 'spaces for hyphens', text.replaceAll(/(?<=GLKR1-.*)-/g, ' ')),
    ofStore('accepted', 'letters for digits', letters(text)),
    ofStore('accepted', 'white space around', `  ${text}\n`),
    ofStore('invalid_identity', 'nothing', ''),
    ofStore('invalid_identity', 'the prefix alone', 'GLKR1-'),
    ofStore('invalid_identity', 'another prefix', text.replace('GLKR1', 'GLKR2')),
    ofStore('invalid_identity', 'one character changed', changeLast(text)),
    ofStore('invalid_identity', 'another end of a store', text.replace(/-(.)/, typo)),
    ofStore('invalid_identity', 'two characters exchanged', text.replace(/(.)(.)$/, '$2$1')),
    ofStore('invalid_identity', 'a group missing', text.slice(0, -9)),
    ofStore('invalid_identity', 'a group more', `${text}-00000000`),
    ofStore('invalid_identity', 'the form without a store', `GLKR1-${'0000000-'.repeat(8)}`),
  ]
}

/** Text that is asked about the store with a seed. */
function forSeed(expect: string, name: string, text: string, of: string = seed): Vector {
  return { ...typed(expect, name, text), seed: of }
}

async function operatorSecrets(): Promise<readonly Vector[]> {
  const text = await generateOperatorSecret(countingRandom('operator vector'))
  return [
    forSeed('accepted', 'as it is printed', text),
    forSeed('accepted', 'for another store', text, idOf('other seed')),
    forSeed('accepted', 'zeros', await generateOperatorSecret((length) => new Uint8Array(length))),
    forSeed('accepted', 'lower case', text.toLowerCase()),
    forSeed('accepted', 'spaces for hyphens', text.replaceAll(/(?<=GLKO1-.*)-/g, ' ')),
    forSeed('accepted', 'letters for digits', letters(text)),
    forSeed('invalid_identity', 'nothing', ''),
    forSeed('invalid_identity', 'another prefix', text.replace('GLKO1', 'GLKO2')),
    forSeed('invalid_identity', 'one character changed', changeLast(text)),
    forSeed('invalid_identity', 'a group missing', text.slice(0, -8)),
    forSeed('invalid_identity', 'a group more', `${text}-0000000`),
    forSeed('invalid_identity', 'a recovery key', formatRecoveryKey(storeId, new Uint8Array(32))),
  ]
}

async function deviceCards(): Promise<readonly Vector[]> {
  const identity = await generateIdentity(countingRandom('card vector'))
  const other = await generateIdentity(countingRandom('other card vector'))
  const card = formatDeviceCard(identity, { name: 'Zoë’s laptop' })
  const line = card.split('\n').slice(1).join('')
  const forged = withKem(identity, other.kem)
  const of = (expect: string, name: string, text: string): Vector => ({
    ...typed(expect, name, text),
    clause: '1.4',
  })
  return [
    of('accepted', 'as it is printed', card),
    of('accepted', 'without a name', formatDeviceCard(identity)),
    of('accepted', 'a name of 256 bytes', formatDeviceCard(identity, { name: '🦉'.repeat(64) })),
    of('accepted', 'one line', line),
    of('accepted', 'lower case', card.toLowerCase()),
    of('accepted', 'line ends of two characters', card.replaceAll('\n', '\r\n')),
    of('accepted', 'another encryption key that the device has signed', formatDeviceCard(forged)),
    of('invalid_input', 'nothing', ''),
    of('invalid_input', 'one character changed', changeLast(line)),
    of('invalid_input', 'a line missing', card.split('\n').toSpliced(3, 1).join('\n')),
    of('invalid_input', 'two cards', card + card),
    of('invalid_input', 'another prefix', line.replace('DEVICE-1', 'DEVICE-2')),
    ...forgedCards(identity, other).map(([name, bytes, expect = 'invalid_input']) =>
      of(expect, name, cardOf(bytes)),
    ),
  ]
}

type ForgedCard = readonly [name: string, bytes: Uint8Array, expect?: 'accepted']

function forgedCards(identity: Identity, other: Identity): readonly ForgedCard[] {
  const { signing, kem, keySignature } = identity
  const named = (...bytes: readonly number[]): Uint8Array => {
    const field = new Uint8Array(256)
    field.set(bytes)
    return concatBytes(signing.publicKey, kem.publicKey, keySignature, field)
  }
  const signed = (fields: Uint8Array): Uint8Array => {
    return concatBytes(fields, sign(concatBytes(label('GLK1/device-card/v1'), fields), signing))
  }
  const honest = signed(named(0x61))
  const weak = new Uint8Array(1216)
  const withKeySignature = (signature: Uint8Array): Uint8Array => put(1248, ...signature)(named())
  const noKey = put(32, ...weak)(withKeySignature(signDeviceKeys(signing, { publicKey: weak })))
  return [
    ['no signature', concatBytes(named(0x61), new Uint8Array(64))],
    ['the signature of another name', put(1312, 0x62)(honest)],
    ['no key signature', signed(withKeySignature(new Uint8Array(64)))],
    ['the key signature of another device', signed(withKeySignature(other.keySignature))],
    [
      'another encryption key that the card alone has signed',
      signed(put(32, ...other.kem.publicKey)(named())),
    ],
    ['the encryption key of another', put(32, ...other.kem.publicKey)(honest)],
    ['an encryption key that nothing can be sealed to', signed(noKey)],
    ['a byte after the end of the name', signed(named(0x61, 0, 0x62))],
    ['a name with a control character', signed(named(0x61, 0x07))],
    ['a name with white space at its end', signed(named(0x61, 0x20))],
    ['a name that is not in NFC', signed(named(0x65, 0xcc, 0x81)), 'accepted'],
    ['a name with a character that is not assigned', signed(named(0xcd, 0xb8)), 'accepted'],
    ['a name that is not UTF-8', signed(named(0xff))],
    ['a name of 65 characters', signed(named(...new Uint8Array(65).fill(0x61)))],
  ]
}

function cardOf(bytes: Uint8Array): string {
  const check = hash256(label('GLK1/device-card-text/v1'), bytes).subarray(0, 3)
  return `GITLOCKET-DEVICE-1-${encodeBase32(concatBytes(bytes, check)).toUpperCase()}`
}

function storeFiles(): readonly Vector[] {
  const id = formatId('store', idOf('store'))
  return [
    storeFile('accepted', 'format 1', `{"format":"gitlocket-store/1","store":"${id}"}\n`),
    storeFile('upgrade_required', 'format 2', `{"format":"gitlocket-store/2","store":"${id}"}\n`),
    storeFile('upgrade_required', 'the layout before', `{"format":1,"store":"${id}"}\n`),
    storeFile(
      'upgrade_required',
      'the layout after that',
      `{"format":"gitlocket/1","store":"${id}"}\n`,
    ),
    storeFile('upgrade_required', 'a number', `{"format":2,"store":"${id}"}\n`),
    storeFile('upgrade_required', 'a format of another form', '{"format":"gitlocket/2","x":[]}'),
    storeFile('not_a_store', 'nothing', ''),
    storeFile('not_a_store', 'no JSON', 'format 1\n'),
    storeFile('not_a_store', 'a format that is a list', `{"format":[1],"store":"${id}"}\n`),
    storeFile('not_a_store', 'no format', `{"store":"${id}"}\n`),
    storeFile('not_a_store', 'no store', '{"format":"gitlocket-store/1"}\n'),
    storeFile(
      'not_a_store',
      'an id of another kind',
      `{"format":"gitlocket-store/1","store":"${id.replace('store', '')}"}\n`,
    ),
    storeFile('not_a_store', 'white space', `{"format": "gitlocket-store/1", "store": "${id}"}\n`),
    storeFile('not_a_store', 'no newline', `{"format":"gitlocket-store/1","store":"${id}"}`),
    storeFile(
      'not_a_store',
      'a field more',
      `{"format":"gitlocket-store/1","store":"${id}","x":1}\n`,
    ),
  ]
}

/** As written down by a person who takes 1 for I or l, and 0 for O. */
function letters(text: string): string {
  const at = text.indexOf('1-') + 2
  return text.slice(0, at) + text.slice(at).replaceAll('1', 'I').replaceAll('0', 'O')
}

function typo(hyphenAndDigit: string): string {
  return hyphenAndDigit === '-7' ? '-8' : '-7'
}

function changeLast(text: string): string {
  return text.slice(0, -1) + (text.endsWith('Z') ? 'Y' : 'Z')
}

// Vectors of what people and programs write as text: ids, paths, identities, recovery keys, the
// public store file. FORMAT §1, §2, §5.2.

import { formatId, type IdKind } from '../../../src/format/id.ts'
import { formatIdentity, formatRecoveryKey, generateIdentity } from '../../../src/keys/identity.ts'
import { countingRandom, idOf } from '../../support/forge-seal.ts'
import type { Group, Vector } from '../vector.ts'

export async function textForms(): Promise<Partial<Record<Group, readonly Vector[]>>> {
  return {
    ids: ids(),
    paths: paths(),
    identities: await identities(),
    'recovery-keys': recoveryKeys(),
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
      ['a character that is not assigned', '/\u0378'],
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
      ['NFD', '/e\u0301'],
      ['a compatibility form that is not NFC', '/\u2126'],
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
    typed('invalid_identity', 'one character changed', changeLast(line)),
    typed('invalid_identity', 'one character missing', line.slice(0, -1)),
    typed('invalid_identity', 'one character more', `${line}0`),
    typed('invalid_identity', 'a letter that is no digit', `${line.slice(0, -1)}U`),
    typed('invalid_identity', 'a recovery key', formatRecoveryKey(new Uint8Array(32))),
  ]
}

function recoveryKeys(): readonly Vector[] {
  const key = countingRandom('recovery vector')(32)
  const text = formatRecoveryKey(key)
  return [
    typed('accepted', 'as it is printed', text),
    typed('accepted', 'zeros', formatRecoveryKey(new Uint8Array(32))),
    typed('accepted', 'lower case', text.toLowerCase()),
    typed('accepted', 'without hyphens', text.replaceAll(/(?<=GLKR1-.*)-/g, '')),
    typed('accepted', 'spaces for hyphens', text.replaceAll(/(?<=GLKR1-.*)-/g, ' ')),
    typed('accepted', 'letters for digits', letters(text)),
    typed('accepted', 'white space around', `  ${text}\n`),
    typed('invalid_identity', 'nothing', ''),
    typed('invalid_identity', 'the prefix alone', 'GLKR1-'),
    typed('invalid_identity', 'another prefix', text.replace('GLKR1', 'GLKR2')),
    typed('invalid_identity', 'one character changed', changeLast(text)),
    typed('invalid_identity', 'two characters exchanged', text.replace(/(.)(.)$/, '$2$1')),
    typed('invalid_identity', 'a group missing', text.slice(0, -8)),
    typed('invalid_identity', 'a group more', `${text}-0000000`),
  ]
}

function storeFiles(): readonly Vector[] {
  const id = formatId('store', idOf('store'))
  return [
    storeFile('accepted', 'format 1', `{"format":1,"store":"${id}"}\n`),
    storeFile('upgrade_required', 'format 2', `{"format":2,"store":"${id}"}\n`),
    storeFile('not_a_store', 'nothing', ''),
    storeFile('not_a_store', 'no JSON', 'format 1\n'),
    storeFile('not_a_store', 'no format', `{"store":"${id}"}\n`),
    storeFile('not_a_store', 'no store', '{"format":1}\n'),
    storeFile(
      'not_a_store',
      'an id of another kind',
      `{"format":1,"store":"${id.replace('store', '')}"}\n`,
    ),
    storeFile('not_a_store', 'white space', `{"format": 1, "store": "${id}"}\n`),
    storeFile('not_a_store', 'no newline', `{"format":1,"store":"${id}"}`),
    storeFile('not_a_store', 'a field more', `{"format":1,"store":"${id}","x":1}\n`),
  ]
}

/** As somebody writes it down who takes 1 for I or l, and 0 for O. */
function letters(text: string): string {
  const at = text.indexOf('1-') + 2
  return text.slice(0, at) + text.slice(at).replaceAll('1', 'I').replaceAll('0', 'O')
}

function changeLast(text: string): string {
  return text.slice(0, -1) + (text.endsWith('Z') ? 'Y' : 'Z')
}

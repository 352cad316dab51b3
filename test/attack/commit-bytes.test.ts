// T5: an attacker who can write to the repository, but is no member, cannot add a commit that is
// accepted, in any encoding; a member cannot make a second commit with the same meaning. FORMAT §6,
// §6.3.

import { beforeAll, describe, expect, test } from 'vitest'
import { asciiText, utf8 } from '../../src/bytes.ts'
import { signingKeyPair } from '../../src/crypto/signature.ts'
import { groupSignature } from '../../src/format/sshsig.ts'
import type { Fault } from '../support/forge-fault.ts'
import type { Forge } from '../support/forge.ts'
import { nextRow, refused, standardHistory, verdicts } from '../support/standard-forge.ts'

let standard: Forge
beforeAll(async () => {
  const { forge } = await standardHistory()
  standard = forge
})

/** A fault of the commit's text, after it was signed. */
function text(change: (commit: string) => string): Fault {
  return { bytes: (bytes) => Buffer.from(change(asciiText(bytes)), 'latin1') }
}

const stranger = signingKeyPair(new Uint8Array(32).fill(5))

describe('T5: a commit without the signature of its epoch is refused', () => {
  test.each<[code: string, name: string, fault: Fault, reference?: string]>([
    ['group_signature_invalid', "a stranger's signature", { group: stranger }],
    [
      'group_signature_invalid',
      "another commit's signature",
      text((commit) => replaceArmor(commit, groupSignature(utf8('another'), stranger))),
    ],
    [
      'group_signature_invalid',
      'one letter of the signature changed',
      text((commit) => commit.replace(/(gpgsig [^]*?\n .{30})(.)/, flipLetter)),
    ],
    [
      'group_signature_invalid',
      'the signature in lines of 60 letters',
      text((commit) => rewrap(commit, 60)),
    ],
    [
      'group_signature_invalid',
      'the signature in one line',
      text((commit) => rewrap(commit, 1000)),
    ],
    [
      'commit_malformed',
      'no signature',
      text((commit) => commit.replace(/gpgsig [^]*?SIGNATURE-----\n.*?\n(?=\n)/s, '')),
    ],
    ['group_signature_invalid', 'an empty signature', text((commit) => replaceArmor(commit, '\n'))],
    [
      'commit_not_canonical',
      'two signatures',
      text((commit) => commit.replace(/(gpgsig [^]*?END SSH SIGNATURE-----\n)/, '$1$1')),
      'commit_malformed',
    ],
  ])('%s: %s', async (code, _, fault, reference) => {
    const forge = standard.fork()
    forge.change([nextRow], fault)
    expect(await verdicts(forge)).toEqual(refused(code, reference))
  })
})

describe('T5: a commit in another encoding is refused', () => {
  test.each<[code: string, name: string, change: (commit: string) => string, reference?: string]>([
    ['commit_malformed', 'CRLF', (c) => c.replaceAll('\n', '\r\n')],
    [
      'commit_malformed',
      'an upper-case tree',
      (c) => c.replace(/^tree .{40}/, (x) => `tree ${x.slice(5).toUpperCase()}`),
    ],
    [
      'commit_malformed',
      'an upper-case parent',
      (c) => c.replace(/parent .{40}/, (x) => `parent ${x.slice(7).toUpperCase()}`),
    ],
    ['commit_malformed', 'a shorter tree', (c) => c.replace(/^(tree .{39})./, '$1')],
    ['commit_malformed', 'two trees', (c) => c.replace(/^(tree .{40}\n)/, '$1$1')],
    ['commit_malformed', 'three parents', (c) => c.replace(/(parent .{40}\n)/, '$1$1$1')],
    ['commit_malformed', 'no author', (c) => c.replace(/author .*\n/, '')],
    ['commit_malformed', 'no committer', (c) => c.replace(/committer .*\n/, '')],
    [
      'commit_malformed',
      'committer first',
      (c) => c.replace(/(author .*\n)(committer .*\n)/, '$2$1'),
    ],
    [
      'commit_not_canonical',
      'another author',
      (c) => c.replace('author gitlocket', 'author mallory'),
      'commit_malformed',
    ],
    [
      'commit_not_canonical',
      'another committer',
      (c) => c.replace('committer gitlocket', 'committer mallory'),
      'commit_malformed',
    ],
    ['commit_malformed', 'the zone -0000', (c) => c.replace('+0000', '-0000')],
    ['commit_malformed', 'another zone', (c) => c.replaceAll('+0000', '+0100')],
    [
      'commit_not_canonical',
      'two spaces',
      (c) => c.replace('author gitlocket', 'author  gitlocket'),
      'commit_malformed',
    ],
    [
      'commit_not_canonical',
      'another time of the committer',
      (c) => c.replace(/(committer .* )1(\d{9})/, '$12$2'),
    ],
    [
      'commit_malformed',
      'an encoding header',
      (c) => c.replace('gpgsig', 'encoding latin1\ngpgsig'),
    ],
    [
      'commit_not_canonical',
      'a header after the signature',
      (c) => c.replace('\n\ngitlocket', '\nextra x\n\ngitlocket'),
      'commit_malformed',
    ],
    [
      'commit_malformed',
      'a header before the signature',
      (c) => c.replace('gpgsig', 'extra x\ngpgsig'),
    ],
    ['commit_malformed', 'a mergetag', (c) => c.replace('gpgsig', 'mergetag object\n x\ngpgsig')],
    [
      'commit_malformed',
      'another subject',
      (c) => c.replace('gitlocket change', 'gitlocket chance'),
    ],
    ['commit_malformed', 'no newline at the end', (c) => c.slice(0, -1)],
    ['commit_malformed', 'a newline more at the end', (c) => `${c}\n`],
    ['commit_malformed', 'text at the end', (c) => `${c}Signed-off-by: x\n`],
    ['commit_malformed', 'a NUL character at the end', (c) => `${c}\0`],
    [
      'commit_not_canonical',
      'a blank line in the record',
      (c) => c.replace('RECORD-----\n', 'RECORD-----\n\n'),
    ],
    [
      'commit_malformed',
      'no record',
      (c) => c.replace(/-----BEGIN GITLOCKET RECORD[^]*END GITLOCKET RECORD-----\n/, ''),
    ],
    [
      'commit_malformed',
      'two records',
      (c) => c.replace(/(-----BEGIN GITLOCKET RECORD[^]*END GITLOCKET RECORD-----\n)/, '$1$1'),
    ],
    [
      'commit_malformed',
      'the detail before the record',
      (c) => c.replace(/(-----BEGIN GITLOCKET RECORD[^]*RECORD-----\n)([^]*)$/, '$2$1'),
    ],
    [
      'commit_not_canonical',
      'the record in other lines',
      (c) => c.replace(/(RECORD-----\n.{40})/, '$1\n'),
    ],
    [
      'commit_malformed',
      'a space in the record',
      (c) => c.replace(/(RECORD-----\n.{40})/, '$1 '),
      'commit_not_canonical',
    ],
    [
      'commit_malformed',
      'base64 of URLs',
      (c) => c.replace(/(RECORD-----\n[^]*?)[+/]/, '$1-'),
      'commit_not_canonical',
    ],
  ])('%s: %s', async (code, _, change, reference) => {
    const forge = standard.fork()
    forge.change([nextRow], text(change))
    expect(await verdicts(forge)).toEqual(refused(code, reference))
  })

  test('commit_malformed: stray bits in the last letter of the detail', async () => {
    const forge = standard.fork()
    forge.change(
      [nextRow],
      text((c) => c.replace(/(.)(=+\n-----END GITLOCKET DETAIL)/, strayBits)),
    )
    expect(await verdicts(forge)).toEqual(refused('commit_malformed', 'commit_not_canonical'))
  })
})

describe('T5: a commit that shows something else than its record is refused', () => {
  test.each<[code: string, name: string, fault: Fault, reference?: string]>([
    [
      'record_parents',
      'another parent',
      { parts: (p) => ({ ...p, parents: [standard.entries[2]?.oid ?? ''] }) },
    ],
    [
      'record_parents',
      'two parents',
      { parts: (p) => ({ ...p, parents: [...p.parents, ...p.parents] }) },
    ],
    [
      'object_missing',
      'a tree that is not there',
      { parts: (p) => ({ ...p, tree: 'ab'.repeat(20) }) },
    ],
    ['envelope_salt', 'the tree before', { parts: (p) => ({ ...p, tree: treeBefore() }) }],
    ['record_height', 'a later date', { parts: (p) => ({ ...p, height: p.height + 1 }) }],
  ])('%s: %s', async (code, _, fault, reference) => {
    const forge = standard.fork()
    forge.change([nextRow], fault)
    expect(await verdicts(forge)).toEqual(refused(code, reference))
  })
})

function treeBefore(): string {
  return asciiText(standard.objects.get(standard.head)?.body ?? new Uint8Array()).slice(5, 45)
}

function replaceArmor(commit: string, armor: string): string {
  const lines = armor.trimEnd().replaceAll('\n', '\n ')
  return commit.replace(/gpgsig [^]*?END SSH SIGNATURE-----\n/, `gpgsig ${lines}\n`)
}

function rewrap(commit: string, width: number): string {
  return commit.replace(/(BEGIN SSH SIGNATURE-----\n)([^-]*)/, (_, begin: string, body: string) => {
    const base64 = body.replaceAll(/[\n ]/g, '')
    return begin + base64.replaceAll(new RegExp(`.{1,${width}}`, 'g'), ' $&\n') + ' '
  })
}

function flipLetter(_: string, before: string, letter: string): string {
  return before + (letter === 'A' ? 'B' : 'A')
}

/** The same bytes for a decoder that ignores the bits that base64 does not use. */
function strayBits(_: string, letter: string, end: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
  return alphabet.charAt(alphabet.indexOf(letter) + 1) + end
}

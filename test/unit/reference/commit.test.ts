// FORMAT §6 as the reference decoder implements it: the one form of a commit and its group
// signature.

import { describe, expect, test } from 'vitest'
import { ascii, equal, utf8 } from '../../support/reference/bytes.ts'
import {
  checkCanonical,
  checkGroupSignature,
  encodeCommit,
  parseCommit,
} from '../../support/reference/commit.ts'
import { H } from '../../support/reference/hash.ts'

const seed = H(utf8('group'))
const commit = {
  tree: 'ab'.repeat(20),
  parents: ['cd'.repeat(20)],
  height: 7,
  record: new Uint8Array(600).fill(1),
  detail: new Uint8Array(344).fill(2),
}
const bytes = encodeCommit(commit, seed)
const text = ascii(bytes)

/** What a verifier does with the bytes of a commit. */
function verify(altered: string, groupSeed = seed): void {
  const parsed = parseCommit(utf8(altered))
  checkCanonical(utf8(altered), parsed)
  checkGroupSignature(parsed, groupSeed)
}

describe('a commit', () => {
  test('reads back', () => {
    const { signature, ...parts } = parseCommit(bytes)
    expect(parts).toEqual(commit)
    expect(signature).toMatch(/^-----BEGIN SSH SIGNATURE-----\n[^-]*-----END SSH SIGNATURE-----\n$/)
    expect(equal(bytes, encodeCommit(parts, seed))).toBe(true)
  })

  test('verifies', () => {
    expect(() => verify(text)).not.toThrow()
  })

  test.each([
    [
      'commit_malformed',
      'without a signature',
      text.replace(/gpgsig [^]*?SIGNATURE-----\n \n?/, ''),
    ],
    ['commit_malformed', 'with another author', text.replace('author gitlocket', 'author other')],
    ['commit_malformed', 'with three parents', text.replace('parent', `${parent(2)}parent`)],
    ['commit_malformed', 'with an upper-case oid', text.replace('tree ab', 'tree AB')],
    ['commit_malformed', 'with another message', text.replace('gitlocket change', 'a change')],
    ['commit_malformed', 'with CRLF', text.replaceAll('\n', '\r\n')],
    ['commit_malformed', 'with a line after the end', `${text}\n`],
    ['commit_malformed', 'without the last newline', text.slice(0, -1)],
    ['commit_malformed', 'with an extra header', text.replace('gpgsig', 'encoding UTF-8\ngpgsig')],
    ['commit_not_canonical', 'with two times', text.replace('1000000007', '1000000008')],
    ['commit_not_canonical', 'with re-wrapped base64', text.replace('AQEB\n', 'AQ\nEB')],
    ['commit_not_canonical', 'with a stray base64 character', text.replace('AQEB', 'AQ*EB')],
    ['group_signature_invalid', 'of another tree', text.replace('tree ab', 'tree ac')],
    ['group_signature_invalid', 'with another signature', text.replace('U1NIU0lH', 'U1NIU0lI')],
  ])('is refused as %s %s', (kind, _, altered) => {
    expect(altered).not.toBe(text)
    expect(() => verify(altered)).toThrow(new RegExp(`^${kind}: `))
  })

  test('is refused under the key of another epoch', () => {
    expect(() => verify(text, H(utf8('other')))).toThrow(/^group_signature_invalid: /)
  })
})

function parent(count: number): string {
  return `parent ${'cd'.repeat(20)}\n`.repeat(count)
}

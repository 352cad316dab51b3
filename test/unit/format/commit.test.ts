// Commits: canonical bytes, one code for a foreign signature and one for anything else, and stock
// tools as the judge of the signature.

import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { asciiText, toHex, utf8, utf8Text } from '../../../src/bytes.ts'
import { signingKeyPair } from '../../../src/crypto/signature.ts'
import { hasCode } from '../../../src/errors.ts'
import { encodeCommit, parseCommit, verifyCommitBytes } from '../../../src/format/commit.ts'
import { allowedSignersLine, groupSignature } from '../../../src/format/sshsig.ts'
import { encodeCommit as referenceEncode } from '../../support/reference/commit.ts'
import { full, seed } from '../../support/seed.ts'
import { cleanEnvironment, temporaryDirectory } from '../../support/temporary.ts'
import { requires } from '../../support/tools.ts'

const sshKeygen = requires('ssh-keygen')
const groupSeed = new Uint8Array(32).fill(7)
const group = signingKeyPair(groupSeed)
const foreign = signingKeyPair(new Uint8Array(32).fill(8))
const emptyTree = '4b825dc642cb6eb9a060e54bf8d69288fbee4904'
const bytesOf = (length: number): Uint8Array => Uint8Array.from({ length }, (_, i) => (i * 7) & 255)

const genesis = {
  tree: emptyTree,
  parents: [],
  height: 0,
  record: bytesOf(600),
  detail: undefined,
}
const change = {
  ...genesis,
  parents: ['ab'.repeat(20)],
  height: 41,
  record: bytesOf(856),
  detail: bytesOf(344),
}
const text = utf8Text(encodeCommit(change, group))
const code = (name: string): unknown => expect.objectContaining({ code: name })

test.each([
  ['genesis', genesis],
  ['a change', change],
  ['a merge', { ...change, parents: ['ab'.repeat(20), 'cd'.repeat(20)] }],
  ['a great height', { ...change, height: 2 ** 40 }],
  ['whole lines of base64', { ...change, record: bytesOf(54), detail: bytesOf(540) }],
])('%s is parsed to its parts, verified, and equal to the reference', (_, parts) => {
  const bytes = encodeCommit(parts, group)
  const { signature, ...parsed } = parseCommit(bytes)
  expect(parsed).toEqual(parts)
  expect(signature).toMatch(/^-----BEGIN SSH SIGNATURE-----\n[^]*\n-----END SSH SIGNATURE-----\n$/)
  expect(() => verifyCommitBytes(bytes, parsed, group)).not.toThrow()
  expect(toHex(referenceEncode({ ...parts, parents: [...parts.parents] }, groupSeed))).toBe(
    toHex(bytes),
  )
})

test('the text is the one of the format', () => {
  expect(text.split('\n').slice(0, 5)).toEqual([
    `tree ${emptyTree}`,
    `parent ${'ab'.repeat(20)}`,
    'author gitlocket <gitlocket@localhost> 1000000041 +0000',
    'committer gitlocket <gitlocket@localhost> 1000000041 +0000',
    'gpgsig -----BEGIN SSH SIGNATURE-----',
  ])
  expect(text).toContain(
    '\n -----END SSH SIGNATURE-----\n\ngitlocket change\n\n-----BEGIN GITLOCKET RECORD-----\n',
  )
  expect(text).toMatch(/-----END GITLOCKET RECORD-----\n-----BEGIN GITLOCKET DETAIL-----\n/)
  expect(text.endsWith('-----END GITLOCKET DETAIL-----\n')).toBe(true)
})

function fold(armor: string): string {
  return armor.trimEnd().replaceAll('\n', '\n ')
}

/** A commit with a part of its text replaced, parsed and verified as a history does. */
function judge(changed: string): void {
  const bytes = utf8(changed)
  verifyCommitBytes(bytes, parseCommit(bytes), group)
}

function replaced(from: string | RegExp, to: string): string {
  const changed = text.replace(from, to)
  expect(changed).not.toBe(text)
  return changed
}

describe('group_signature_invalid:', () => {
  test('signed with another group key', () => {
    expect(() => judge(utf8Text(encodeCommit(change, foreign)))).toThrow(
      code('group_signature_invalid'),
    )
  })

  test('the signature of another commit', () => {
    const other = parseCommit(encodeCommit(genesis, group)).signature
    const own = parseCommit(utf8(text)).signature
    expect(() => judge(replaced(fold(own), fold(other)))).toThrow(code('group_signature_invalid'))
  })

  test('an empty signature', () => {
    const changed = replaced(/gpgsig [^]*?-----END SSH SIGNATURE-----/, 'gpgsig x')
    expect(() => judge(changed)).toThrow(code('group_signature_invalid'))
  })
})

describe('commit_not_canonical:', () => {
  test.each([
    ['another committer time', /(committer .*> )\d+/, '$11000000042'],
    ['another committer', 'committer gitlocket', 'committer Gitlocket'],
    ['another author', 'author gitlocket', 'author Gitlocket'],
    ['record lines of another width', /(RECORD-----\n.{71})(.)\n/, '$1\n$2'],
    ['a blank line in the record', /(RECORD-----\n.*\n)/, '$1\n'],
    ['a header after the signature', '\n\ngitlocket', '\nencoding UTF-8\n\ngitlocket'],
  ])('%s', (_, from, to) => {
    expect(() => judge(replaced(from, to))).toThrow(code('commit_not_canonical'))
  })
})

describe('commit_malformed:', () => {
  test.each([
    ['no signature', /gpgsig [^]*?-----END SSH SIGNATURE-----\n/, ''],
    ['no tree', /^tree .*\n/, ''],
    ['a tree in capitals', /^tree 4b/, 'tree 4B'],
    ['a header before the tree', /^/, 'x y\n'],
    ['three parents', /(parent .*\n)/, '$1$1$1'],
    ['a time zone of -0000', /(author .*) \+0000/, '$1 -0000'],
    ['a time before height 0', /(author .*>) 1000000041/, '$1 0999999999'],
    ['a header after the committer', /(committer .*\n)/, '$1encoding UTF-8\n'],
    ['another subject', 'gitlocket change', 'Gitlocket change'],
    ['line ends of another system', /\n/g, '\r\n'],
    ['text after the end', /$/, 'x\n'],
    ['no line end', /\n$/, ''],
    ['a record that is not base64', /(RECORD-----\n)../, '$1!!'],
    ['base64 with stray bits', /=\n-----END GITLOCKET DETAIL/, '\n-----END GITLOCKET DETAIL'],
    ['no record', /-----BEGIN GITLOCKET RECORD[^]*END GITLOCKET RECORD-----\n/, ''],
    ['two records', /(-----BEGIN GITLOCKET RECORD[^]*END GITLOCKET RECORD-----\n)/, '$1$1'],
    ['the detail first', /(-----BEGIN GITLOCKET RECORD[^]*RECORD-----\n)([^]*)$/, '$2$1'],
  ])('%s', (_, from, to) => {
    expect(() => judge(replaced(from, to))).toThrow(code('commit_malformed'))
  })

  test('many continuation lines are refused without exhausting the stack', () => {
    const hostile = `${text.slice(0, text.indexOf('gpgsig '))}gpgsig x${'\n '.repeat(500_000)}\n`
    expect(() => parseCommit(utf8(hostile))).toThrow(code('commit_malformed'))
  })
})

test('every changed byte of a commit is refused with a code', { tags: 'slow' }, () => {
  const bytes = utf8(text)
  for (let at = 0; at < bytes.length; at++) {
    const changed = bytes.with(at, (bytes[at] ?? 0) ^ 1)
    expect(refusal(changed), `byte ${at}`).toBe(true)
  }
})

test('arbitrary bytes are refused with commit_malformed', () => {
  fc.assert(
    fc.property(fc.nat(text.length), fc.uint8Array({ maxLength: 200 }), (at, noise) => {
      const bytes = utf8(text.slice(0, at) + asciiText(noise))
      expect(utf8Text(bytes) === text || refusal(bytes)).toBe(true)
    }),
    { seed, numRuns: full ? 20_000 : 300 },
  )
})

/** Whether bytes are refused, or parse to other parts, whose record the reader will not open. */
function refusal(bytes: Uint8Array): boolean {
  try {
    const { signature, ...parts } = parseCommit(bytes)
    verifyCommitBytes(bytes, parts, group)
    return signature === ''
  } catch (error) {
    return hasCode(error, 'commit_malformed', 'commit_not_canonical', 'group_signature_invalid')
  }
}

describe('stock tools accept the group signature', () => {
  test.skipIf(sshKeygen.missing)(`ssh-keygen -Y verify${sshKeygen.note}`, () => {
    const directory = temporaryDirectory()
    const file = (name: string, content: string | Uint8Array): string => {
      writeFileSync(join(directory, name), content)
      return join(directory, name)
    }
    const message = bytesOf(1000)
    const signature = file('signature', groupSignature(message, group))
    const signers = file('signers', allowedSignersLine(group.publicKey))
    const verify = (input: Uint8Array): string =>
      execFileSync(
        'ssh-keygen',
        ['-Y', 'verify', '-f', signers, '-I', 'gitlocket@localhost', '-n', 'git', '-s', signature],
        { input, encoding: 'utf8', stdio: ['pipe', 'pipe', 'pipe'], env: cleanEnvironment() },
      )
    expect(verify(message)).toContain('Good "git" signature')
    expect(() => verify(message.slice(1))).toThrow(/verif/i)
  })

  test.skipIf(sshKeygen.missing)(`git verify-commit and git fsck --strict${sshKeygen.note}`, () => {
    const directory = temporaryDirectory()
    const git = (args: readonly string[], input?: Uint8Array): string =>
      execFileSync('git', args, {
        cwd: directory,
        encoding: 'utf8',
        stdio: ['pipe', 'pipe', 'pipe'],
        env: cleanEnvironment(),
        ...(input === undefined ? {} : { input }),
      }).trim()
    git(['init', '--quiet', '--bare', '.'])
    git(['hash-object', '-w', '-t', 'tree', '--stdin'], new Uint8Array())
    const store = (bytes: Uint8Array): string =>
      git(['hash-object', '-w', '-t', 'commit', '--stdin'], bytes)
    const parent = store(encodeCommit(genesis, group))
    const head = store(encodeCommit({ ...change, parents: [parent] }, group))
    git(['update-ref', 'refs/heads/main', head])
    const signers = join(directory, 'signers')
    writeFileSync(signers, allowedSignersLine(group.publicKey))
    git(['-c', `gpg.ssh.allowedSignersFile=${signers}`, 'verify-commit', head, parent])
    expect(git(['fsck', '--strict'])).toBe('')
    const forged = store(encodeCommit({ ...change, parents: [parent] }, foreign))
    expect(() =>
      git(['-c', `gpg.ssh.allowedSignersFile=${signers}`, 'verify-commit', forged]),
    ).toThrow(/verify-commit/)
  })
})

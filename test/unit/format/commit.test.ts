// Commits: canonical bytes, one code for a foreign signature and one for anything else, and stock
// tools as the judge of the signature.

import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { utf8, utf8Text } from '../../../src/bytes.ts'
import { signingKeyPair } from '../../../src/crypto/signature.ts'
import { encodeCommit, parseCommit, verifyCommitBytes } from '../../../src/format/commit.ts'
import { allowedSignersLine, groupSignature } from '../../../src/format/sshsig.ts'
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

// redact on the built command line: every way to select versions, the questions to confirm, the
// remaining versions, and the proof. Every store here ends verified, by us and by stock git.

import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { formatId } from '../../src/format/id.ts'
import { OidList } from '../../src/git/objects/oid-list.ts'
import { encodeIntent } from '../../src/git/purge/purge-intent.ts'
import {
  formatDeviceCard,
  formatIdentity,
  generateIdentity,
  parseIdentity,
} from '../../src/index.ts'
import { journalSecretOf } from '../../src/store/local/sealed-cache.ts'
import { git as stockGit } from '../support/temporary.ts'
import { requires } from '../support/tools.ts'
import { copiesOf, type Home, newHomeWithStore } from './cli-process.ts'

const git = requires('git')
const ssh = requires('ssh-keygen')
const SECRET = 'sk-live-4242424242'

/** A leaked key that was replaced, a memory of two versions, and another text. */
const homeWithLeak = copiesOf(async (home) => {
  await home.ok('init')
  await home.ok('create', 'keys.md', '--text', `key: ${SECRET}\n`, '--session', 's1')
  await home.ok('str-replace', 'keys.md', '--old', SECRET, '--new', 'in the vault')
  await home.ok('create', 'other.md', '--text', 'other\n', '--actor', 'bob')
})

async function listed(home: Home, ...words: string[]): Promise<readonly Listed[]> {
  const { data: versions } = await home.json('log', '--reverse', ...words)
  if (!Array.isArray(versions)) throw new Error('log printed no versions')
  return versions
}

interface Listed {
  readonly id: string
  readonly path: string | null
  readonly redacted_at: string | null
}

async function redactedCount(home: Home): Promise<number> {
  return (await listed(home)).filter((version) => version.redacted_at !== null).length
}

async function expectWhole(home: Home): Promise<void> {
  await home.ok('verify', '--absence')
  if (!git.missing) stockGit(['fsck', '--strict', '--no-dangling'], home.store)
}

describe('redact', () => {
  test(
    'erases one version: the row is kept, and the text is proven absent',
    { tags: 'slow' },
    async () => {
      const home = await homeWithLeak()
      const [leak] = await listed(home)
      const before = await home.json('status')
      const done = await home.call(['redact', leak?.id ?? '', '--yes', '--prove'])
      expect(done.exitCode).toBe(0)
      expect(done.stdout).toMatch(
        new RegExp(
          `^Redacted 1 version\ncreated\t${leak?.id}\n\n` +
            `Old head     ${String(before['head'])}\n` +
            'New head     [0-9a-f]{40}\n' +
            'For hosts    \\d+ object ids to report, in the certificate\n' +
            '\n1 later version may repeat the text, written on these; --with-copies .*\n' +
            'Searched \\d+ objects, .* for 1 redacted version: nothing is left\n$',
        ),
      )
      expect(done.stderr).toMatch(/Other clones, hosts and backups keep the old objects/)
      const shown = await home.ok('show', leak?.id ?? '')
      expect(shown).toMatch(/^Change: {3}created \(redacted\)\nActor: {4}user:alice\n/m)
      expect(shown).toMatch(/^Redacted: \d{4}-.* by user:alice$/m)
      expect(shown).not.toContain(SECRET)
      expect((await listed(home, '--redacted')).map(({ id }) => id)).toEqual([leak?.id])
      expect(await home.ok('cat', 'keys.md')).toBe('key: in the vault\n')
      expect((await home.call(['restore', 'keys.md', '--to', leak?.id ?? ''])).exitCode).toBe(6)
      await expectWhole(home)
    },
  )

  test.each<[words: string[], count: number]>([
    [['--memory', 'keys.md', '--keep-current'], 1],
    // The deletion holds the path, too.
    [['--path', 'keys.md', '--delete'], 3],
    [['--path', '/', '--keep-current'], 1],
    [['--session', 's1'], 1],
    [['--actor', 'bob', '--overwrite'], 1],
    [['--actor', 'alice', '--keep-current'], 1],
    [['--matching', 'sk-[a-z]+-\\d+'], 1],
    [['--matching', 'SK-LIVE', '-i', '--literal'], 1],
    [['--before', '0s', '--keep-current'], 1],
    [['--session', 's1', '--actor', 'bob'], 0],
    [['--matching', 'no such text'], 0],
  ])('%j erases %d versions', async (words, count) => {
    const home = await homeWithLeak()
    const { stdout, exitCode } = await home.call(['redact', ...words, '--yes', '--json'])
    expect(exitCode).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ dry_run: false, redacted: count })
    expect(await redactedCount(home)).toBe(count)
    await expectWhole(home)
  })

  test('takes the secret from a file, so that no process list shows it', async () => {
    const home = await homeWithLeak()
    home.file('secret', `${SECRET}\n`)
    const words = ['redact', '--matching-file', 'secret', '--literal', '--yes']
    const { exitCode } = await home.call([...words, '--reason-code', 'leaked_secret'])
    expect(exitCode).toBe(0)
    expect(await redactedCount(home)).toBe(1)
    const again = await home.ok(...words)
    expect(again).toBe('Nothing to redact\n')
  })

  test('takes the secret from standard input', async () => {
    const home = await homeWithLeak()
    const words = ['redact', '--matching-file', '-', '--literal', '--yes']
    const { exitCode, stderr } = await home.run([...words, '--json'], { input: `${SECRET}\n` })
    expect([exitCode, stderr]).toEqual([0, ''])
    expect(await redactedCount(home)).toBe(1)
    for (const input of ['', 'one\ntwo\n', '   ']) {
      const refused = await home.run(words, { input })
      expect([refused.exitCode, refused.stdout]).toEqual([2, ''])
    }
    const none = await home.run(['redact'])
    expect([none.exitCode, none.stderr]).toEqual([2, expect.stringContaining('--matching-file')])
  })

  test('a repeated call changes nothing and reports that', async () => {
    const home = await homeWithLeak()
    await home.call(['redact', '--session', 's1', '--yes'])
    const { head } = await home.json('status')
    expect(await home.ok('redact', '--session', 's1', '--yes')).toBe(
      'Nothing to redact; 1 redacted before\n',
    )
    expect(await home.json('redact', '--session', 's1')).toMatchObject({
      redacted: 0,
      already_redacted: 1,
      certificate: null,
    })
    expect((await home.json('status'))['head']).toBe(head)
  })

  test('--dry-run lists affected and current versions, and where else the text is', async () => {
    const home = await homeWithLeak()
    await home.ok('create', 'copy.md', '--text', `key: ${SECRET}\n`)
    const { head } = await home.json('status')
    const { stdout, stderr } = await home.call(['redact', '--memory', 'keys.md', '--dry-run'])
    const [title, newest, oldest, , same, copy] = stdout.split('\n')
    expect(title).toBe('Would redact 2 versions')
    expect(newest).toMatch(/^\/keys.md\tmodified\tcurrent\t.*\tmemver_\w{26}$/)
    expect(oldest).toMatch(/^\/keys.md\tcreated\t\t.*\tmemver_\w{26}$/)
    expect(same).toMatch(/^1 other version holds the same text and will remain; --with-copies /)
    expect(copy).toMatch(/^\/copy.md\tmemver_\w{26}$/)
    expect(stderr).toMatch(/1 version is current: --overwrite, --delete or --keep-current/)
    expect(await home.json('redact', '--memory', 'keys.md', '--dry-run')).toMatchObject({
      dry_run: true,
      versions: [{ operation: 'modified' }, { operation: 'created' }],
      current: [expect.stringMatching(/^memver_/)],
      already_redacted: 0,
      same_text: [{ path: '/copy.md' }],
    })
    expect((await home.json('status'))['head']).toBe(head)
  })
})

describe('current versions', () => {
  test('are refused with a hint and with their ids', async () => {
    const home = await homeWithLeak()
    const words = ['redact', '--path', 'other.md', '--yes']
    const { stdout, stderr, exitCode } = await home.call(words)
    expect({ stdout, exitCode }).toEqual({ stdout: '', exitCode: 6 })
    expect(stderr).toMatch(/1 version is still current in memories; nothing was redacted/)
    expect(stderr).toMatch(/hint: Add --overwrite or --delete .* --keep-current/)
    const error = JSON.parse((await home.call([...words, '--json'])).stderr)
    const [, , other] = await listed(home)
    expect(error).toMatchObject({
      error: { code: 'version_current', exit_code: 6, memory_version_ids: [other?.id] },
    })
  })

  test('--overwrite replaces the secret alone; --delete removes the memory', async () => {
    const home = await newHomeWithStore()
    await home.ok('create', 'a.md', '--text', `keep\nkey: ${SECRET}\n`)
    await home.ok('create', 'b.md', '--text', `${SECRET}\n`)
    home.file('secret', SECRET)
    const first = ['redact', '--matching-file', 'secret', '--path', 'a.md', '--overwrite', '--yes']
    expect((await home.call(first)).exitCode).toBe(0)
    expect(await home.ok('cat', 'a.md')).toBe('keep\nkey: [redacted]\n')
    const second = ['redact', '--matching-file', 'secret', '--delete', '--yes']
    expect((await home.call(second)).exitCode).toBe(0)
    expect(await home.ok('ls')).toBe('a.md\n')
    await expectWhole(home)
  })
})

describe('consent', () => {
  test('is missing off a terminal without --yes', { tags: 'slow' }, async () => {
    const home = await homeWithLeak()
    const { stdout, stderr, exitCode } = await home.run(['redact', '--session', 's1'])
    expect({ stdout, exitCode }).toEqual({ stdout: '', exitCode: 2 })
    expect(stderr).toMatch(/1 version would be erased permanently.*\nhint: --dry-run .* --yes/)
    expect(await redactedCount(home)).toBe(0)
  })
})

describe('the certificate', () => {
  test('is issued again, and written to a new file', { tags: 'slow' }, async () => {
    const home = await newHomeWithStore()
    expect(await home.call(['certificate', 'list'])).toMatchObject({
      stdout: '',
      stderr: 'Nothing was redacted in this store\n',
    })
    await home.ok('create', 'a.md', '--text', 'a secret', '--session', 's1')
    await home.ok('write', 'a.md', '--text', 'nothing')
    const { certificate } = await home.json('redact', '--session', 's1', '--yes')
    const { data } = JSON.parse(await home.ok('certificate', 'list', '--json'))
    expect(data).toMatchObject([{ type: 'redaction', reason: 'unspecified', has_object_ids: true }])
    const id = (await home.ok('certificate', 'list')).trim().split('\t').at(-1) ?? ''
    expect(data[0].redaction).toContain(id)
    const again = { certificate, object_ids: 'known', file: null }
    expect(await home.json('certificate', 'show', id)).toMatchObject(again)
    const versionId = data[0].versions[0].memory_version_id
    await home.ok('certificate', 'show', versionId, '--out', 'proof.json')
    const text = readFileSync(join(home.directory, 'proof.json'), 'utf8')
    expect(JSON.parse(text)).toEqual(certificate)
    expect(await home.ok('certificate', 'verify', 'proof.json')).toContain('Verified')
    const taken = await home.call(['certificate', 'show', id, '--out', 'proof.json'])
    expect([taken.exitCode, taken.stderr]).toEqual([4, expect.stringContaining('exists already')])
    const unknown = await home.call(['certificate', 'show', 'abcd1234'])
    expect([unknown.exitCode, unknown.stderr]).toEqual([3, expect.stringContaining('list')])
  })

  test('is written, names the erased versions, and is never overwritten', async () => {
    const home = await homeWithLeak()
    const words = ['redact', '--session', 's1', '--yes', '--certificate', 'proof.json']
    const code = ['--reason-code', 'legal', '--as', 'lawyer']
    const { stdout } = await home.call([...words, ...code, '--json'])
    const file = join(home.directory, 'proof.json')
    const certificate = JSON.parse(readFileSync(file, 'utf8'))
    expect(JSON.parse(stdout).certificate).toEqual(certificate)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(certificate).toMatchObject({
      reason: 'legal',
      actor: { type: 'user', id: 'lawyer' },
      versions: [{ operation: 'created' }],
      object_ids: expect.arrayContaining([expect.stringMatching(/^[0-9a-f]{40}$/)]),
    })
    await home.ok('verify', '--absence', '--certificate', 'proof.json')
    const again = await home.call(words)
    expect(again.exitCode).toBe(4)
    expect(again.stderr).toMatch(/proof.json exists already/)
  })

  test.skipIf(ssh.missing)(`ssh-keygen verifies its signature${ssh.note}`, async () => {
    const home = await homeWithLeak()
    const { certificate } = await home.json('redact', '--session', 's1', '--yes')
    if (typeof certificate !== 'object' || certificate === null) throw new Error('there is none')
    const { signature, ...statement } = Object.fromEntries(Object.entries(certificate))
    home.file('signature', signature.value)
    home.file('signers', `device namespaces="${signature.namespace}" ${signature.public_key}\n`)
    const verify = ['-Y', 'verify', '-f', 'signers', '-I', 'device', '-n', signature.namespace]
    execFileSync('ssh-keygen', [...verify, '-s', 'signature'], {
      cwd: home.directory,
      input: JSON.stringify(statement),
    })
  })

  test.skipIf(git.missing)(
    `verify --absence exits with 11 for its objects${git.note}`,
    async () => {
      const home = await homeWithLeak()
      const { head } = await home.json('status')
      const commit = stockGit(['cat-file', 'commit', String(head)], home.store)
      await home.call(['redact', '--session', 's1', '--yes', '--certificate', 'proof.json'])
      stockGit(['hash-object', '-t', 'commit', '-w', '--stdin'], home.store, commit)
      const words = ['verify', '--absence', '--certificate', 'proof.json']
      const { stdout, exitCode } = await home.call(words)
      expect(exitCode).toBe(11)
      expect(stdout).toMatch(new RegExp(`FOUND in 1 place\n  object ${String(head)}\n$`))
      const json = await home.call([...words, '--json'])
      expect(JSON.parse(json.stdout)).toMatchObject({
        verified: true,
        absence: { found: [{ place: 'object', object_id: head, memory_version_id: null }] },
      })
    },
  )

  test('proves nothing if it is forged, with a store, a key or neither', async () => {
    const home = await homeWithLeak()
    await home.call(['redact', '--session', 's1', '--yes', '--certificate', 'proof.json'])
    const text = readFileSync(join(home.directory, 'proof.json'), 'utf8')
    home.file('forged.json', text.replace(/"redacted_at": "\d+/, '"redacted_at": "1999'))
    for (const words of [
      ['verify', '--absence', '--certificate', 'forged.json'],
      ['certificate', 'verify', 'forged.json'],
      ['certificate', 'verify', 'forged.json', '--key', JSON.parse(text).device_id],
    ]) {
      const { stdout, stderr, exitCode } = await home.call(words)
      expect([words, stdout, exitCode]).toEqual([words, '', 11])
      expect(stderr).toMatch(/does not carry a valid signature[^]*\nhint: Do not believe it/)
    }
  })

  test('is verified against the store, or a key, and without both exits with 4', async () => {
    const home = await homeWithLeak()
    await home.call(['redact', '--session', 's1', '--yes', '--certificate', 'proof.json'])
    const certificate = JSON.parse(readFileSync(join(home.directory, 'proof.json'), 'utf8'))
    const { device_id: device, signature } = certificate
    const words = ['certificate', 'verify', 'proof.json']
    expect(await home.ok(...words)).toMatch(/^Store .*\n\nVerified: the history of this store has/s)
    const built_on_redacted: readonly unknown[] = []
    const said = { type: 'certificate_verify', certificate, built_on_redacted }
    expect(await home.json(...words)).toEqual({ verified_by: 'store', ...said })
    home.file('key.pub', `${signature.public_key} ada\n`)
    for (const key of [device, signature.public_key, 'key.pub']) {
      const found = await home.json(...words, '--key', key)
      expect(found).toEqual({ verified_by: 'key', ...said })
    }
    const nowhere = await home.call(['--store', 'nowhere', ...words])
    expect(nowhere).toMatchObject({ exitCode: 4, stderr: '' })
    expect(nowhere.stdout).toMatch(/NOT VERIFIED: anybody can make such a certificate/)
    const json = await home.call(['--store', 'nowhere', ...words, '--json'])
    expect(JSON.parse(json.stdout)).toEqual({ verified_by: null, ...said })
  })
})

test('no file of the store holds the object of a redacted text', async () => {
  const home = await homeWithLeak()
  const { certificate } = await home.json('redact', '--session', 's1', '--yes')
  const { object_ids: dead } = Object(certificate)
  const names = readdirSync(home.store, { recursive: true, withFileTypes: true })
  for (const entry of names.filter((one) => one.isFile())) {
    const bytes = readFileSync(join(entry.parentPath, entry.name))
    for (const oid of dead) expect(bytes.includes(Buffer.from(oid, 'hex'))).toBe(false)
  }
})

test('a list of another identity is named, and left to it', { tags: 'slow' }, async () => {
  const home = await homeWithLeak()
  const other = await secondIdentity(home)
  // A redaction that died before it erased: its list, and an object of it.
  const identity = await parseIdentity(readFileSync(home.identityFile, 'utf8'))
  const dead = stockGit(['hash-object', '-w', '--stdin'], home.store, 'dead').trim()
  const [next = '', expected = ''] = stockGit(['rev-list', 'main'], home.store).split('\n')
  const intent = { expected, next, packs: [], dead: OidList.of([dead]) }
  const list = join(home.store, 'gitlocket/purge-0123456789abcdef')
  writeFileSync(list, encodeIntent(intent, journalSecretOf(identity)))
  const waits = /1 list of objects to erase that this device has not written.*`gitlocket doctor/s
  for (const words of [['redact', '--matching', 'nowhere', '--yes'], ['compact']]) {
    const { stdout, stderr, exitCode } = await home.call(words, other)
    expect([stdout, stderr, exitCode]).toEqual([expect.stringMatching(waits), '', 0])
  }
  const asked = await home.call(['redact', '--matching', 'nowhere', '--yes', '--json'], other)
  expect(JSON.parse(asked.stdout)).toMatchObject({ objects_to_erase: 0, foreign_lists: 1 })
  expect(stockGit(['cat-file', '-t', dead], home.store)).toBe('blob\n')
  // As the text promises: its own identity erases it.
  expect(await home.ok('compact')).not.toMatch(waits)
  expect(existsSync(list)).toBe(false)
  const found = stockGit(['cat-file', '--batch-check'], home.store, `${dead}\n`)
  expect(found).toBe(`${dead} missing\n`)
  await expectWhole(home)
})

/** Another owner that uses the same directory; the variables with which it does. */
async function secondIdentity(home: Home): Promise<Readonly<Record<string, string>>> {
  const identity = await generateIdentity()
  const card = home.file('card', formatDeviceCard(identity))
  const id = formatId('device', identity.deviceId)
  await home.ok('device', 'add', card, '--role', 'owner', '--fingerprint', id)
  return { GITLOCKET_IDENTITY_FILE: home.file('other', formatIdentity(identity)) }
}

// The reference decoder on stores that its own minimal writer makes from FORMAT: what it reads,
// that stock git accepts them, and that it names the fault of a store with one fault.

import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { concat, fromHex, u32, utf8 } from '../../support/reference/bytes.ts'
import { formatIdentity, formatRecoveryKey } from '../../support/reference/identity.ts'
import { kemPublicKey } from '../../support/reference/keyring.ts'
import { groupSeed } from '../../support/reference/keys.ts'
import { publicKeyOf } from '../../support/reference/signature.ts'
import { allowedSigner } from '../../support/reference/sshsig.ts'
import { readStore } from '../../support/reference/store.ts'
import { passphraseIdentity, recoveryKeyIdentity } from '../../support/reference/unlock.ts'
import {
  auditorSlot,
  fullSlot,
  type NewRow,
  publicKeys,
  StoreWriter,
} from '../../support/reference/writer.ts'

const scratch = mkdtempSync(join(tmpdir(), 'reference-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

let repositories = 0
const newDirectory = () => {
  repositories += 1
  return join(scratch, `${repositories}.git`)
}

const settings = {
  name: 'Notes',
  description: '',
  metadata: new Map<string, string>(),
  archivedAt: undefined,
  limits: { contentBytes: 102_400, memories: 10_000 },
}

const [m1, m2] = ['11'.repeat(16), '22'.repeat(16)]
const version = (n: number) => n.toString(16).padStart(32, '0')

function row(n: number, operation: NewRow['operation'], more: Partial<NewRow> = {}): NewRow {
  const content = operation === 'deleted' ? '' : `text ${n}\n`
  return { memoryId: m1, versionId: version(n), operation, path: '/a', content, ...more }
}

function started(): StoreWriter {
  const writer = new StoreWriter()
  writer.genesis(settings)
  return writer
}

/** Writes and reads as the founder. */
function read(writer: StoreWriter, redacted?: ReadonlySet<string>) {
  const directory = newDirectory()
  writer.write(directory, redacted)
  return readStore(directory, { identity: formatIdentity(writer.founder) })
}

/** The directory after the founder's, with these members. */
function withMembers(writer: StoreWriter, ...members: readonly Member[]) {
  const number = writer.directory.number + 1
  const added = members.map(({ identity, role }) => {
    const { deviceId, signingKey, kemKey } = publicKeys(identity)
    return { deviceId, signingKey, kemKey, role, added: number, removed: 0 }
  })
  const devices = [...writer.directory.devices, ...added]
  devices.sort((a, b) => (a.deviceId < b.deviceId ? -1 : 1))
  return { ...writer.directory, number, devices }
}

interface Member {
  readonly identity: StoreWriter['founder']
  readonly role: 'owner' | 'writer' | 'reader' | 'auditor'
}

function member(writer: StoreWriter, role: Member['role']): Member {
  const [signingSeed, kemSeed] = [writer.random(), writer.random()]
  return { identity: { signingSeed, kemSeed, localSecret: writer.random() }, role }
}

function slotFor({ identity, role }: Member, epoch: StoreWriter['epoch']) {
  const plaintext = role === 'auditor' ? auditorSlot(epoch) : fullSlot(epoch)
  return {
    type: 1 as const,
    prefix: utf8(''),
    recipient: kemPublicKey(identity.kemSeed),
    plaintext,
  }
}

const founderOf = (writer: StoreWriter): Member => ({ identity: writer.founder, role: 'owner' })

describe('a store', () => {
  test('reads as its changes say', { tags: 'slow' }, () => {
    const writer = started()
    writer.change([
      row(1, 'created', { note: 'first' }),
      row(2, 'created', { memoryId: m2, path: '/b/c' }),
    ])
    writer.change([row(3, 'modified', { path: '/renamed' })])
    writer.change([row(4, 'deleted', { memoryId: m2, path: '/b/c' })])
    writer.settings({ ...settings, name: 'Other' })
    const store = read(writer)
    expect(store.settings?.name).toBe('Other')
    expect([...store.memories]).toEqual([
      [
        '/renamed',
        { memoryId: m1, versionId: version(3), content: 'text 3\n', created: 1_700_000_001_000 },
      ],
    ])
    expect(store.commits.map((c) => c.kind).join()).toBe('genesis,change,change,change,settings')
    expect(store.commits[1]?.rows[0]).toMatchObject({ path: '/a', note: 'first', size: 7 })
  })

  test('revives a deleted memory', { tags: 'slow' }, () => {
    const writer = started()
    writer.change([row(1, 'created')])
    writer.change([row(2, 'deleted')])
    writer.change([row(3, 'created')])
    expect(read(writer).memories.get('/a')?.created).toBe(1_700_000_001_000)
  })

  test('with 40 memories has a radix tree that reads back', { tags: 'slow' }, () => {
    const writer = started()
    const ids = Array.from({ length: 40 }, () => writer.newId())
    const rows = ids.map((memoryId, i) => row(i + 1, 'created', { memoryId, path: `/${memoryId}` }))
    writer.change(rows)
    expect(read(writer).memories.size).toBe(40)
  })

  test(
    'keeps the trail of a redacted version, and loses its detail and text',
    { tags: 'slow' },
    () => {
      const writer = started()
      writer.change([row(1, 'created', { content: 'secret' })])
      writer.change([row(2, 'modified')])
      writer.redact([{ memoryId: m1, versionId: version(1) }])
      const store = read(writer)
      expect(store.commits[1]?.rows).toEqual([
        {
          memoryId: m1,
          versionId: version(1),
          base: version(0),
          operation: 'created',
          redacted: true,
        },
      ])
      expect([...store.redacted]).toEqual([version(1)])
      expect(store.memories.get('/a')?.content).toBe('text 2\n')
    },
  )

  test('passes git fsck and git verify-commit', () => {
    const writer = started()
    writer.change([row(1, 'created')])
    const directory = newDirectory()
    writer.write(directory)
    const signers = join(scratch, 'allowed_signers')
    writeFileSync(signers, allowedSigner(groupSeed(writer.epoch)))
    const git = (...words: readonly string[]) =>
      execFileSync(
        'git',
        ['-C', directory, '-c', `gpg.ssh.allowedSignersFile=${signers}`, ...words],
        {
          encoding: 'utf8',
          stdio: 'pipe',
        },
      )
    expect(git('fsck', '--strict')).toBe('')
    expect(git('verify-commit', 'main')).toBe('')
  })

  test.each(['reader', 'auditor'] as const)('opens for a %s', { tags: 'slow' }, (role) => {
    const writer = started()
    const joining = member(writer, role)
    const slots = [founderOf(writer), joining].map((m) => slotFor(m, writer.epoch))
    writer.keyring({ directory: withMembers(writer, joining), epoch: writer.epoch, slots })
    writer.change([row(1, 'created')])
    const directory = newDirectory()
    writer.write(directory)
    const store = readStore(directory, { identity: formatIdentity(joining.identity) })
    expect(store.commits.length).toBe(3)
    expect(store.memories.size).toBe(role === 'reader' ? 1 : 0)
  })

  test('does not open for a stranger', () => {
    const writer = started()
    const directory = newDirectory()
    writer.write(directory)
    const { identity } = member(writer, 'owner')
    const open = () => readStore(directory, { identity: formatIdentity(identity) })
    expect(open).toThrow(/^wrong_key: /)
  })
})

describe('a second epoch', () => {
  test('reads what was written in both', { tags: 'slow' }, () => {
    const writer = started()
    writer.change([row(1, 'created')])
    const epoch = writer.newEpoch()
    const directory = withMembers(writer)
    writer.keyring({ directory, epoch, slots: [slotFor(founderOf(writer), epoch)] })
    writer.change([row(2, 'created', { memoryId: m2, path: '/b' })])
    expect([...read(writer).memories.keys()]).toEqual(['/a', '/b'])
  })

  test('is needed to remove a device', { tags: 'slow' }, () => {
    const writer = started()
    const joining = member(writer, 'writer')
    const slots = [founderOf(writer), joining].map((m) => slotFor(m, writer.epoch))
    writer.keyring({ directory: withMembers(writer, joining), epoch: writer.epoch, slots })
    const devices = writer.directory.devices.map((device) =>
      device.role === 'writer' ? { ...device, removed: 2 } : device,
    )
    const directory = { ...writer.directory, number: 2, devices }
    writer.keyring({ directory, epoch: writer.epoch, slots: slots.slice(0, 1) })
    expect(() => read(writer)).toThrow(/^keyring_chain: /)
  })
})

describe('recovery identities', () => {
  const key = Uint8Array.from({ length: 32 }, (_, i) => i)
  const parameters = { salt: new Uint8Array(16).fill(5), passes: 2, memoryKiB: 64 * 1024 }
  /** Made once: Argon2id takes a second. */
  let stretchedOnce: ReturnType<typeof passphraseIdentity> | undefined
  const byPassphrase = (): ReturnType<typeof passphraseIdentity> =>
    (stretchedOnce ??= passphraseIdentity('pass word', parameters))
  const stretched = concat(parameters.salt, u32(parameters.passes), u32(parameters.memoryKiB))

  /** A store whose second directory has a recovery identity, and the identity's seeds. */
  function withRecovery(type: 2 | 3) {
    const writer = started()
    const known = type === 2 ? byPassphrase() : recoveryKeyIdentity(key)
    const slotId = writer.newId()
    const prefix = concat(fromHex(slotId), type === 2 ? stretched : utf8(''))
    const [kemKey, signingKey] = [kemPublicKey(known.kemSeed), publicKeyOf(known.signingSeed)]
    const slot = { type, prefix, recipient: kemKey, plaintext: fullSlot(writer.epoch) }
    const slots = [slotFor(founderOf(writer), writer.epoch), slot]
    const recoveries = [{ slotId, slotType: type, signingKey, kemKey }]
    const directory = { ...withMembers(writer), recoveries }
    writer.keyring({ directory, epoch: writer.epoch, slots })
    return { writer, known, slots }
  }

  test.each([
    [2, 'passphrase', { passphrase: 'pass word' }],
    [3, 'recovery key', { recoveryKey: formatRecoveryKey(key) }],
  ] as const)('of slot type %i open the store by %s', { tags: 'slow' }, (type, _, secret) => {
    const { writer } = withRecovery(type)
    writer.change([row(1, 'created')])
    const directory = newDirectory()
    writer.write(directory)
    expect(readStore(directory, secret).memories.size).toBe(1)
  })

  /** The store of a recovery identity that adds a member with this role. */
  function adding(type: 2 | 3, role: Member['role']): StoreWriter {
    const { writer, known, slots } = withRecovery(type)
    const joining = member(writer, role)
    const added = { directory: withMembers(writer, joining), epoch: writer.epoch }
    const plan = { ...added, slots: [...slots, slotFor(joining, writer.epoch)] }
    writer.keyring(plan, { sequence: 0, actor: undefined }, known.signingSeed)
    return writer
  }

  test.each([
    [2, 'writer'],
    [3, 'owner'],
  ] as const)('of slot type %i add a member who is %s', { tags: 'slow' }, (type, role) => {
    expect(read(adding(type, role)).directory.devices.length).toBe(2)
  })

  test('of slot type 2 add no owner', { tags: 'slow' }, () => {
    expect(() => read(adding(2, 'owner'))).toThrow(/^record_role: /)
  })
})

describe('one fault is refused by its name', () => {
  test.each<[string, string, (writer: StoreWriter) => void]>([
    ['record_height', 'a height', (w) => w.change([row(2, 'modified')], { height: 9 })],
    [
      'record_parents',
      'a parent',
      (w) => w.change([row(2, 'modified')], { parents: ['ab'.repeat(32)] }),
    ],
    [
      'record_keyring',
      'a keyring link',
      (w) => w.change([row(2, 'modified')], { keyring: 'ab'.repeat(32) }),
    ],
    [
      'record_device',
      'an author',
      (w) => w.change([row(2, 'modified')], { deviceId: 'ab'.repeat(16) }),
    ],
    ['record_sequence', 'a sequence', (w) => w.change([row(2, 'modified')], { sequence: 1 })],
    [
      'record_chain',
      'a chain',
      (w) => w.change([row(2, 'modified')], { previous: 'ab'.repeat(32) }),
    ],
    ['record_malformed', 'an actor', (w) => w.change([row(2, 'modified')], { actor: undefined })],
    ['record_rows', 'no rows', (w) => w.change([])],
    ['row_version_reused', 'a version id', (w) => w.change([row(1, 'modified')])],
    ['row_base_mismatch', 'a base', (w) => w.change([row(2, 'modified', { base: version(7) })])],
    [
      'row_memory_exists',
      'a second creation',
      (w) => w.change([row(2, 'created', { base: version(0) })]),
    ],
    [
      'row_memory_missing',
      'a missing memory',
      (w) => w.change([row(2, 'modified', { memoryId: m2 })]),
    ],
    ['redact_target', 'a live target', (w) => w.redact([{ memoryId: m1, versionId: version(1) }])],
    ['detail_malformed', 'a path', (w) => w.change([row(2, 'modified', { path: 'a' })])],
    ['detail_mismatch', 'a deletion’s path', (w) => w.change([row(2, 'deleted', { path: '/z' })])],
    ['memory_mismatch', 'one path twice', (w) => w.change([row(2, 'created', { memoryId: m2 })])],
    [
      'memory_mismatch',
      'a path above',
      (w) => w.change([row(2, 'created', { memoryId: m2, path: '/a/b' })]),
    ],
  ])('%s: %s', (kind, _, spoil) => {
    const writer = started()
    writer.change([row(1, 'created')])
    spoil(writer)
    expect(() => read(writer)).toThrow(new RegExp(`^${kind}: `))
  })

  test('redaction_undone: a history that was not rewritten', () => {
    const writer = started()
    writer.change([row(1, 'created')])
    writer.change([row(2, 'modified')])
    writer.redact([{ memoryId: m1, versionId: version(1) }])
    expect(() => read(writer, new Set())).toThrow(/^redaction_undone: /)
  })

  test('detail_missing: a history that was rewritten without a redact record', () => {
    const writer = started()
    writer.change([row(1, 'created')])
    writer.change([row(2, 'modified')])
    expect(() => read(writer, new Set([version(1)]))).toThrow(/^detail_missing: /)
  })

  test('record_role: a reader that writes', () => {
    const writer = started()
    const joining = member(writer, 'reader')
    const slots = [founderOf(writer), joining].map((m) => slotFor(m, writer.epoch))
    writer.keyring({ directory: withMembers(writer, joining), epoch: writer.epoch, slots })
    writer.change([row(1, 'created')], {}, joining.identity.signingSeed)
    expect(() => read(writer)).toThrow(/^record_role: /)
  })
})

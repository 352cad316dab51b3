// T18: certificates of a redaction forged by a stranger, another member or the device itself, or
// unsigned, for readers with a store, with an auditor's trail, with a known key, and with nothing.
// FORMAT §10.1.
// @module-tag slow

import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { deviceIdOf, formatId } from '../../src/format/id.ts'
import { parseSshPublicKey, sshPublicKey, sshSignature } from '../../src/format/sshsig.ts'
import {
  type Audit,
  type AuditOptions,
  auditStore,
  createStore,
  generateIdentity,
  type Identity,
  type MemoryStore,
  type RedactionCertificate,
  verifyCertificate,
} from '../../src/index.ts'
import { admit, put } from '../support/clones.ts'
import { author, leastStretch, newStore, reopen } from '../support/stores.ts'
import { git, sharedDirectory, temporaryDirectory } from '../support/temporary.ts'
import { requires } from '../support/tools.ts'
import { verdictOf } from '../support/verdict.ts'

type Statement = Omit<RedactionCertificate, 'signature'>

const ssh = requires('ssh-keygen')
const namespace = 'gitlocket-redaction'

const directory = sharedDirectory()
let store: MemoryStore
let audit: Audit
let auditor: AuditOptions
let founder: Identity
let other: Identity
let stranger: Identity
/** The certificate of a redaction, on top of which there is another one. */
let first: RedactionCertificate
let second: RedactionCertificate
beforeAll(async () => {
  founder = await generateIdentity()
  stranger = await generateIdentity()
  const at = { directory: `${directory}/store`, stateDirectory: `${directory}/state` }
  const place = { ...at, identity: founder, recoveryKey: '' }
  ;({ store } = await createStore({ ...place, stretch: leastStretch }))
  other = await admit({ store }, 'owner')
  const leaks = [await leak('/a.md'), await leak('/b.md')] as const
  first = await redact(leaks[0])
  // Gives the record of the first one another commit.
  second = await redact(leaks[1])
  // The audit reads the repository that the store has open.
  await store.maintenance.checkpoint()
  auditor = { ...place, stateDirectory: `${directory}/state-of-auditor` }
  audit = await auditStore(auditor)
  await store.close()
  store = await reopen(place)
})

async function leak(path: string): Promise<readonly string[]> {
  const versionIds = [await put({ store }, path, 'a secret')]
  versionIds.push(await put({ store }, path, 'a secret too'))
  await put({ store }, path, 'nothing')
  return versionIds
}

async function redact(versionIds: readonly string[]): Promise<RedactionCertificate> {
  const request = { select: { versionIds }, reason: 'leaked_secret' } as const
  const { certificate } = await store.as(author).redact(request)
  if (certificate === undefined) throw new Error('Nothing was redacted')
  return certificate
}

/** A certificate with this content, signed by the key of this device. */
function signed(statement: object, { signing }: Identity, signs = namespace): object {
  const value = sshSignature(signs, Buffer.from(JSON.stringify(statement)), signing)
  const public_key = sshPublicKey(signing.publicKey)
  return { ...statement, signature: { public_key, namespace, value } }
}

function statementOf({ signature, ...statement }: RedactionCertificate): Statement {
  expect(signature.namespace).toBe(namespace)
  return statement
}

function dev(identity: Identity): string {
  return formatId('device', identity.deviceId)
}

interface Verdicts {
  readonly unknown: string
  readonly key: string
  readonly audit: string
  readonly store: string
  /** The result of the proof of absence for the certificate. */
  readonly absence: string
}

async function judge(certificate: object | string): Promise<Verdicts> {
  const text = typeof certificate === 'string' ? certificate : JSON.stringify(certificate)
  return {
    unknown: await verdictOf(() => verifyCertificate(text, 'unknown')),
    key: await verdictOf(() => verifyCertificate(text, { key: dev(founder) })),
    audit: await verdictOf(() => verifyCertificate(text, auditor)),
    store: await verdictOf(() => store.maintenance.verifyCertificate(text)),
    absence: await verdictOf(() => store.maintenance.findResidue({ certificate: text })),
  }
}

function all(verdict: string): Verdicts {
  return { unknown: verdict, key: verdict, audit: verdict, store: verdict, absence: verdict }
}

describe('T18: the true certificate', () => {
  test('is believed by all, in one line, indented, and after a later redaction', async () => {
    for (const one of [first, second]) {
      expect(await judge(one)).toEqual(all('accepted'))
      expect(await judge(`${JSON.stringify(one, undefined, 4)}\r\n`)).toEqual(all('accepted'))
    }
    expect(first.commits).not.toEqual([audit.entries.find(isRedact)?.commit])
  })

  test('is believed for its key in either form, with a comment too', async () => {
    const text = JSON.stringify(first)
    const { public_key } = first.signature
    for (const key of [dev(founder), public_key, `${public_key} ada@laptop`]) {
      expect(await verifyCertificate(text, { key })).toEqual(first)
    }
    for (const key of ['', 'dev_1', 'ssh-rsa AAAA', 'ssh-ed25519 AAAA']) {
      expect(await verdictOf(() => verifyCertificate(text, { key }))).toBe('invalid_input')
    }
  })

  test(
    'is still believed when the device that signed it is removed',
    { tags: 'slow' },
    async () => {
      const made = await newStore()
      const remaining = await admit(made, 'owner')
      const versionId = await put(made, '/a.md', 'a secret')
      await put(made, '/a.md', 'nothing')
      const select = { versionIds: [versionId] }
      const { certificate } = await made.store.as(author).redact({ select, reason: 'legal' })
      await made.store.close()
      const place = { ...made.place, identity: remaining, stateDirectory: temporaryDirectory() }
      const there = await reopen(place)
      await there.as(author).devices.remove([dev(made.place.identity)])
      const text = JSON.stringify(certificate)
      expect(await verdictOf(() => there.maintenance.verifyCertificate(text))).toBe('accepted')
    },
  )

  test.skipIf(ssh.missing)(`may be signed by ssh-keygen itself${ssh.note}`, async () => {
    const folder = temporaryDirectory()
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'c', '-f', `${folder}/key`])
    const line = readFileSync(`${folder}/key.pub`, 'utf8').split(' ').slice(0, 2).join(' ')
    const publicKey = parseSshPublicKey(line)
    if (publicKey === undefined) throw new Error('The key is not read')
    const device_id = formatId('device', deviceIdOf(publicKey))
    const statement = { ...statementOf(first), device_id }
    writeFileSync(`${folder}/text`, JSON.stringify(statement))
    const sign = ['-Y', 'sign', '-f', `${folder}/key`, '-n', namespace, `${folder}/text`]
    execFileSync('ssh-keygen', sign, { stdio: 'ignore' })
    const value = readFileSync(`${folder}/text.sig`, 'utf8')
    const text = JSON.stringify({ ...statement, signature: { public_key: line, namespace, value } })
    expect(await verdictOf(() => verifyCertificate(text, { key: line }))).toBe('accepted')
    expect(await verdictOf(() => verifyCertificate(text, auditor))).toBe('certificate_invalid')
  })
})

function isRedact({ kind }: Audit['entries'][number]): boolean {
  return kind === 'redact'
}

describe('T18: an invalid certificate', () => {
  const text = (): string => JSON.stringify(first)
  test.each<[name: string, forge: () => object | string]>([
    ['nothing', () => ''],
    ['a list of objects alone', () => ({ object_ids: first.object_ids })],
    ['one without a signature', () => statementOf(first)],
    ['one whose signature is null', () => ({ ...first, signature: null })],
    ['an empty list of objects', () => signed({ ...statementOf(first), object_ids: [] }, founder)],
    ['an empty list of versions', () => signed({ ...statementOf(first), versions: [] }, founder)],
    ['no records', () => signed({ ...statementOf(first), records: [], commits: [] }, founder)],
    ['a member more', () => ({ ...first, note: 'all clear' })],
    ['a member more in its actor', () => ({ ...first, actor: { ...first.actor, note: 'x' } })],
    ['members in another order', () => ({ signature: first.signature, ...statementOf(first) })],
    ['a member twice', () => text().replace('{', '{"reason":"legal",')],
    ['the same member twice', () => text().replace('{', '{"type":"gitlocket_redaction",')],
    ['its version as 1.0', () => text().replace('"version":1,', '"version":1.0,')],
    ['its version as text', () => text().replace('"version":1,', '"version":"1",')],
    ['an escape for a letter', () => text().replace('gitlocket', String.raw`\u0067itlocket`)],
    ['a prototype', () => text().replace('{', '{"__proto__":{},')],
    ['a space in an id', () => text().replace('memstore_', 'memstore_ ')],
    ['more behind its end', () => `${text()}{}`],
    ['a mark of byte order', () => `\uFEFF${text()}`],
    ['another namespace in it', () => text().replace(/"gitlocket-redaction"/, '"git"')],
    ['brackets without end', () => '['.repeat(1_000_000)],
    ['objects without end', () => '{"a":'.repeat(1_000_000)],
    ['objects out of order', () => ({ ...first, object_ids: first.object_ids.toReversed() })],
    ['an old head that is not erased', () => ({ ...first, old_head: '0'.repeat(40) })],
    ['a time of another form', () => ({ ...first, redacted_at: '2026-01-01' })],
  ])('invalid_input: %s', async (_, forge) => {
    expect(await judge(forge())).toEqual(all('invalid_input'))
  })

  test('upgrade_required: one of a later release', async () => {
    expect(await judge({ ...first, version: 2 })).toEqual(all('upgrade_required'))
  })
})

describe('T18: a certificate that its key has not signed', () => {
  const armor = (body: string): string =>
    `-----BEGIN SSH SIGNATURE-----\n${body}\n-----END SSH SIGNATURE-----\n`
  const withValue = (value: string): object => {
    return { ...first, signature: { ...first.signature, value } }
  }
  test.each<[name: string, forge: () => object]>([
    ['another date', () => ({ ...first, redacted_at: new Date(0).toISOString() })],
    ['another reason', () => ({ ...first, reason: 'legal' })],
    ['an object less', () => ({ ...first, object_ids: first.object_ids.filter(isNotFirst) })],
    ['an empty signature', () => withValue('')],
    ['garbage as its signature', () => withValue(armor('AAAA'))],
    ['the signature of another one', () => ({ ...first, signature: second.signature })],
    ['lines of another width', () => withValue(first.signature.value.replace('\n', '\n\n'))],
    ['text behind its signature', () => withValue(`${first.signature.value}x`)],
    ['the namespace of commits', () => signed(statementOf(first), founder, 'git')],
    ['the key of another device', () => signed(statementOf(first), stranger)],
    ['the device of another key', () => ({ ...first, device_id: dev(other) })],
  ])('certificate_invalid: %s', async (_, forge) => {
    expect(await judge(forge())).toEqual(all('certificate_invalid'))
  })

  function isNotFirst(oid: string): boolean {
    return oid !== first.object_ids.find((one) => one !== first.old_head)
  }
})

describe('T18: a certificate whose key has signed it', () => {
  const refused = { audit: 'certificate_invalid', store: 'certificate_invalid' }
  const forgedBy = async (statement: object, by: Identity): Promise<Verdicts> => {
    return judge(signed({ ...statement, device_id: dev(by) }, by))
  }

  test('is of a stranger: without the store or a key, this cannot be seen', async () => {
    expect(await forgedBy(statementOf(first), stranger)).toEqual({
      unknown: 'accepted',
      key: 'certificate_invalid',
      ...refused,
      absence: 'certificate_invalid',
    })
  })

  test('is of another owner, not of the redactor', async () => {
    const verdicts = await forgedBy(statementOf(first), other)
    expect(verdicts).toMatchObject({ ...refused, key: 'certificate_invalid' })
  })

  test('is of another store', async () => {
    const store_id = formatId('store', 'ab'.repeat(16))
    const verdicts = await forgedBy({ ...statementOf(first), store_id }, founder)
    const verdict = 'store_id_mismatch'
    expect(verdicts).toMatchObject({ audit: verdict, store: verdict, absence: verdict })
  })

  test.each<[name: string, change: (one: Statement) => Partial<Statement>]>([
    ['another time', () => ({ redacted_at: new Date(0).toISOString() })],
    ['another reason', () => ({ reason: 'legal' })],
    ['another actor', () => ({ actor: { type: 'user', id: 'somebody' }, session_id: null })],
    ['no session', () => ({ session_id: null })],
    ['a record that there is not', () => ({ records: ['0'.repeat(64)] })],
    ['such a record too', withRecord],
    ['the record of another redaction', () => ({ records: second.records })],
    ['the record of a change', () => ({ records: [recordOf('change')] })],
    ['the versions of another one', () => ({ versions: second.versions, may_repeat: [] })],
    ['a copy that there is not', () => ({ may_repeat: [formatId('version', 'ab'.repeat(16))] })],
    ['a version less', (one) => ({ versions: one.versions.slice(1) })],
    ['versions of both', versionsOfBoth],
    ['records of both', bothOf],
    ['another memory', (one) => ({ versions: one.versions.map(ofOtherMemory) })],
    ['another operation', (one) => ({ versions: one.versions.map(asDeletion) })],
    ['a commit of something else', () => ({ commits: [genesis()], new_head: genesis() })],
    ['a head before that is there', (one) => ({ old_head: genesis(), ...withObject(one) })],
    ['a live object as erased: a text', (one) => withLive(one, blobAt('main'))],
    ['one of the past', (one) => withLive(one, blobAt('main~1'))],
    ['a tree', (one) => withLive(one, git(['rev-parse', 'main~2^{tree}'], place()).trim())],
    ['a commit', (one) => withLive(one, genesis())],
  ])('is not what the history says: %s', async (_, change) => {
    const statement = statementOf(first)
    const verdicts = await forgedBy({ ...statement, ...change(statement) }, founder)
    const absence = 'certificate_invalid'
    expect(verdicts).toEqual({ unknown: 'accepted', key: 'accepted', ...refused, absence })
  })

  function place(): string {
    return `${directory}/store`
  }

  function blobAt(commit: string): string {
    const lines = git(['ls-tree', '-r', commit, 'm'], place()).trim().split('\n')
    return /[0-9a-f]{40}/.exec(lines.at(-1) ?? '')?.[0] ?? ''
  }

  function withLive({ object_ids }: Statement, oid: string): Partial<Statement> {
    expect(object_ids).not.toContain(oid)
    expect(git(['cat-file', '-t', oid], place())).not.toBe('')
    return { object_ids: [...object_ids, oid].toSorted() }
  }

  function recordOf(kind: string): string {
    return audit.entries.find((entry) => entry.kind === kind)?.record ?? ''
  }

  function genesis(): string {
    return audit.entries[0]?.commit ?? ''
  }

  function bothOf({ records, commits }: Statement): Partial<Statement> {
    return {
      records: [...records, ...second.records],
      commits: [...commits, ...second.commits],
      new_head: second.new_head,
    }
  }

  function versionsOfBoth({ versions }: Statement): Partial<Statement> {
    return { versions: [...versions, ...second.versions], may_repeat: [] }
  }

  function withRecord({ records, commits }: Statement): Partial<Statement> {
    return {
      records: ['0'.repeat(64), ...records],
      commits: ['0'.repeat(40), ...commits],
    }
  }

  function ofOtherMemory(one: Statement['versions'][number]): Statement['versions'][number] {
    return { ...one, memory_id: second.versions[0]?.memory_id ?? '' }
  }

  function asDeletion(one: Statement['versions'][number]): Statement['versions'][number] {
    return { ...one, operation: 'deleted' }
  }

  function withObject({ object_ids }: Statement): Partial<Statement> {
    return { object_ids: [...object_ids, genesis()].toSorted() }
  }
})

// T18: a certificate that is issued again takes no object id from a file that was changed, or that
// belongs to another redaction, device or store, and no reader takes one that a stranger issued.
// FORMAT §10.1.
// @module-tag slow

import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { formatId } from '../../src/format/id.ts'
import { sshPublicKey, sshSignature } from '../../src/format/sshsig.ts'
import {
  auditStore,
  generateIdentity,
  type Identity,
  type MemoryStore,
  type RedactionCertificate,
  verifyCertificate,
} from '../../src/index.ts'
import { admit, bareRemote, firstClone, joinClone, put, sync } from '../support/clones.ts'
import { author, newStore, reopen, type TestPlace } from '../support/stores.ts'
import { temporaryDirectory } from '../support/temporary.ts'
import { verdictOf } from '../support/verdict.ts'

const secret = 'sk-live-4242424242424242'

async function redact(store: MemoryStore, path: string): Promise<RedactionCertificate> {
  const versionIds = [await put({ store }, path, secret)]
  await put({ store }, path, 'nothing')
  const request = { select: { versionIds }, reason: 'leaked_secret' } as const
  const { certificate } = await store.as(author).redact(request)
  if (certificate === undefined) throw new Error('Nothing was redacted')
  return certificate
}

/** The sealed files of a device, by the record of their redaction. */
function sealedFiles({ stateDirectory }: TestPlace): ReadonlyMap<string, string> {
  const files = readdirSync(stateDirectory, { recursive: true, encoding: 'utf8' })
  const found = files.filter((name) => /\.erasures\/[0-9a-f]{64}$/.test(name))
  return new Map(found.map((name) => [name.slice(-64), `${stateDirectory}/${name}`]))
}

function fileOf(place: TestPlace, { records: [record = ''] }: RedactionCertificate): string {
  const file = sealedFiles(place).get(record)
  if (file === undefined) throw new Error('The redaction has no sealed file')
  return file
}

async function issued(store: MemoryStore, { records: [record = ''] }: RedactionCertificate) {
  return store.maintenance.issueCertificate(record)
}

describe('T18: a certificate issued again', () => {
  test('is the one that was issued first, also after a restart', async () => {
    const { store, place } = await newStore()
    const first = await redact(store, '/a.md')
    expect(await issued(store, first)).toEqual({ certificate: first, objectIds: 'known' })
    await store.close()
    const later = await reopen(place)
    expect((await issued(later, first)).certificate).toEqual(first)
    const second = await redact(later, '/b.md')
    const again = (await issued(later, first)).certificate
    expect({ ...again, commits: [], signature: undefined }).toMatchObject({
      object_ids: first.object_ids,
      old_head: first.old_head,
    })
    for (const certificate of [again, (await issued(later, second)).certificate]) {
      expect(await later.maintenance.verifyCertificate(certificate)).toEqual(certificate)
    }
  })

  test('the sealed files hold no plaintext, neither of texts nor of ids', async () => {
    const { store, place } = await newStore()
    const certificate = await redact(store, '/path-of-the-secret.md')
    await store.close()
    const bytes = readFileSync(fileOf(place, certificate), 'latin1')
    for (const text of [secret, 'path-of-the-secret', ...certificate.object_ids]) {
      expect(bytes).not.toContain(text)
    }
  })

  type Tamper = (file: string, other: string) => void
  const tampers: readonly (readonly [string, Tamper])[] = [
    ['with a flipped byte', (file) => writeFileSync(file, flipped(readFileSync(file)))],
    ['that is cut', (file) => writeFileSync(file, readFileSync(file).subarray(0, -1))],
    ['that is empty', (file) => writeFileSync(file, '')],
    ['with bytes added', (file) => writeFileSync(file, `${readFileSync(file, 'latin1')}x`)],
    ['of another redaction', (file, other) => copyFileSync(other, file)],
  ]
  test.each(tampers)('takes no object id from a file %s', async (_, tamper) => {
    const { store, place } = await newStore()
    const [first, second] = [await redact(store, '/a.md'), await redact(store, '/b.md')]
    tamper(fileOf(place, first), fileOf(place, second))
    const { certificate, objectIds } = await issued(store, first)
    expect([objectIds, certificate.object_ids, certificate.old_head]).toEqual(['damaged', [], null])
    expect(await store.maintenance.verifyCertificate(certificate)).toEqual(certificate)
  })

  test('takes no object id from a file of another device or store', async () => {
    const { store, place } = await newStore()
    const certificate = await redact(store, '/a.md')
    const other = await newStore()
    const foreign = await redact(other.store, '/a.md')
    copyFileSync(fileOf(other.place, foreign), fileOf(place, certificate))
    const found = await issued(store, certificate)
    expect([found.objectIds, found.certificate.object_ids]).toEqual(['damaged', []])
  })

  test('by another device is what the record proves, signed by that device', async () => {
    const url = bareRemote()
    const first = await firstClone(url)
    const made = await redact(first.store, '/a.md')
    await sync(first)
    const second = await joinClone(first, url)
    const { certificate, objectIds } = await issued(second.store, made)
    const other = formatId('device', second.place.identity.deviceId)
    expect(objectIds).toBe('unknown')
    expect(certificate).toMatchObject({
      type: 'gitlocket_redaction_record',
      device_id: made.device_id,
      issued_by: other,
      versions: made.versions,
      object_ids: [],
      old_head: null,
    })
    await sync(second)
    await sync(first)
    for (const { store } of [first, second]) {
      expect(await store.maintenance.verifyCertificate(certificate)).toEqual(certificate)
    }
    const text = JSON.stringify(certificate)
    expect(await verdictOf(() => verifyCertificate(text, { key: other }))).toBe('accepted')
    const signer = verifyCertificate(text, { key: made.device_id })
    expect(await verdictOf(() => signer)).toBe('certificate_invalid')
  })
})

describe('T18: a certificate from the record', () => {
  test('is refused if a stranger or another key signed it, or if it names more', async () => {
    const { store, place } = await newStore()
    const made = await redact(store, '/a.md')
    const owner = await admit({ store }, 'owner')
    const stranger = await generateIdentity()
    await store.maintenance.checkpoint()
    const auditor = { ...place, stateDirectory: temporaryDirectory() }
    await auditStore(auditor)
    const { signature, type, device_id, ...rest } = made
    expect([signature.namespace, type]).toEqual(['gitlocket-redaction', 'gitlocket_redaction'])
    const statement = (issuer: Identity): object => {
      const { store_id, reason, redacted_at, actor, session_id, records, commits } = made
      const facts = { store_id, reason, redacted_at, actor, session_id, device_id }
      const issued_by = formatId('device', issuer.deviceId)
      const none = { may_repeat: [], object_ids: [] }
      const heads = { records, commits, old_head: null, new_head: rest.new_head }
      const what = { versions: made.versions, ...none }
      return {
        type: 'gitlocket_redaction_record',
        version: 1,
        ...facts,
        issued_by,
        ...heads,
        ...what,
      }
    }
    const judge = async (certificate: object): Promise<readonly string[]> => [
      await verdictOf(() => store.maintenance.verifyCertificate(JSON.stringify(certificate))),
      await verdictOf(() => verifyCertificate(JSON.stringify(certificate), auditor)),
    ]
    const both = (verdict: string): readonly string[] => [verdict, verdict]
    expect(await judge(signed(statement(owner), owner))).toEqual(both('accepted'))
    expect(await judge(signed(statement(stranger), stranger))).toEqual(both('certificate_invalid'))
    expect(await judge(signed(statement(owner), stranger))).toEqual(both('certificate_invalid'))
    for (const more of [
      { object_ids: made.object_ids },
      { old_head: made.old_head },
      { may_repeat: made.versions.map((one) => one.memory_version_id) },
    ]) {
      expect(await judge(signed({ ...statement(owner), ...more }, owner))).toEqual(
        both('invalid_input'),
      )
    }
    const lie = { ...statement(owner), reason: 'legal' }
    expect(await judge(signed(lie, owner))).toEqual(both('certificate_invalid'))
  })
})

function flipped(bytes: Buffer): Buffer {
  const at = Math.floor(bytes.length / 2)
  bytes[at] = (bytes[at] ?? 0) ^ 1
  return bytes
}

function signed(statement: object, { signing }: Identity): object {
  const namespace = 'gitlocket-redaction'
  const value = sshSignature(namespace, Buffer.from(JSON.stringify(statement)), signing)
  const public_key = sshPublicKey(signing.publicKey)
  return { ...statement, signature: { public_key, namespace, value } }
}

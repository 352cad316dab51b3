// Vectors of certificates of redactions: as the device that redacted signs them, and issued from
// the record alone. FORMAT §10.1.

import { utf8 } from '../../../src/bytes.ts'
import { deviceIdOf, formatId } from '../../../src/format/id.ts'
import { sshPublicKey, sshSignature } from '../../../src/format/sshsig.ts'
import { generateIdentity, type Identity } from '../../../src/keys/identity.ts'
import {
  certificateText,
  signStatement,
  type Statement,
} from '../../../src/store/redaction/certificate.ts'
import { countingRandom, idOf } from '../../support/forge-seal.ts'
import type { Vector } from '../vector.ts'

const [oldHead, newHead, blob] = ['1a', '2b', '3c'].map((byte) => byte.repeat(20))
const version = (name: string): string => formatId('version', idOf(name))

function deviceOf({ signing }: Identity): string {
  return formatId('device', deviceIdOf(signing.publicKey))
}

function firstOf(device: string): Statement {
  return {
    type: 'gitlocket_redaction',
    version: 1,
    store_id: formatId('store', idOf('store')),
    reason: 'leaked_secret',
    redacted_at: '2026-01-31T12:00:00.000Z',
    actor: { type: 'session', id: 'chat-9' },
    session_id: 'chat-9',
    device_id: device,
    records: ['4d'.repeat(32)],
    commits: [newHead ?? ''],
    old_head: oldHead ?? '',
    new_head: newHead ?? '',
    versions: [
      {
        memory_version_id: version('erased'),
        memory_id: formatId('memory', idOf('memory')),
        operation: 'modified',
      },
    ],
    may_repeat: [version('kept')],
    object_ids: [oldHead ?? '', blob ?? ''],
  }
}

/** The members in their order, with others in their place. */
function issuedOf(first: Statement, issuer: string): Statement {
  const { type: _, device_id, records, commits, new_head, versions, ...facts } = first
  const { version: number, store_id, reason, redacted_at, actor, session_id } = facts
  return {
    type: 'gitlocket_redaction_record',
    version: number,
    store_id,
    reason,
    redacted_at,
    actor,
    session_id,
    device_id,
    issued_by: issuer,
    records,
    commits,
    old_head: null,
    new_head,
    versions,
    may_repeat: [],
    object_ids: [],
  }
}

export async function certificates(): Promise<readonly Vector[]> {
  const device = await generateIdentity(countingRandom('certificate vector'))
  const other = await generateIdentity(countingRandom('other certificate vector'))
  const first = firstOf(deviceOf(device))
  const issued = issuedOf(first, deviceOf(other))
  return [...asSigned(device, first), ...asIssued(other, issued, deviceOf(device))]
}

function vector(expect: string, name: string, text: string): Vector {
  return { name, clause: '10.1', expect, text }
}

/** Signed whatever it holds. */
function signed(expect: string, name: string, by: Identity, statement: object): Vector {
  const text = utf8(JSON.stringify(statement))
  const signature = {
    public_key: sshPublicKey(by.signing.publicKey),
    namespace: 'gitlocket-redaction',
    value: sshSignature('gitlocket-redaction', text, by.signing),
  }
  return vector(expect, name, JSON.stringify({ ...statement, signature }))
}

function asSigned(device: Identity, first: Statement): readonly Vector[] {
  const certificate = signStatement(device, first)
  const line = JSON.stringify(certificate)
  const of = (name: string, change: object): Vector =>
    signed('invalid_input', name, device, { ...first, ...change })
  return [
    vector('accepted', 'as it is written', certificateText(certificate)),
    vector('accepted', 'one line', line),
    signed('accepted', 'without a session or kept versions', device, {
      ...first,
      actor: { type: 'user', id: 'anna' },
      session_id: null,
      may_repeat: [],
    }),
    vector('invalid_input', 'nothing', ''),
    vector('invalid_input', 'a member twice', line.replace('{', '{"type":"gitlocket_redaction",')),
    vector('invalid_input', 'an escape', line.replace('leaked', '\\u006ceaked')),
    of('a member more', { note: '' }),
    of('another type', { type: 'gitlocket_report' }),
    of('version 0', { version: 0 }),
    signed('upgrade_required', 'a later version', device, { ...first, version: 2 }),
    of('a reason that is not known', { reason: 'other' }),
    of('a time without milliseconds', { redacted_at: '2026-01-31T12:00:00Z' }),
    of('a session of another actor', { session_id: 'chat-8' }),
    of('no records', { records: [] }),
    of('another new head', { new_head: blob }),
    of('no old head', { old_head: null }),
    of('an old head that was not erased', { object_ids: [blob] }),
    of('objects that do not ascend', { object_ids: [blob, oldHead] }),
    of('an object twice', { object_ids: [oldHead, oldHead, blob] }),
    of('the new head erased', { object_ids: [oldHead, newHead, blob] }),
    of('a version that is kept, too', { may_repeat: [version('erased')] }),
    of('a member issued_by', { issued_by: first.device_id }),
    vector('certificate_invalid', 'one character changed', line.replace('leaked_secret', 'legal')),
    vector(
      'certificate_invalid',
      'the namespace of reports',
      JSON.stringify(inNamespace(device, first, 'gitlocket-report')),
    ),
  ]
}

/** Signed in a namespace, while the certificate names its own. */
function inNamespace(device: Identity, statement: Statement, namespace: string): object {
  const certificate = signStatement(device, statement)
  const value = sshSignature(namespace, utf8(JSON.stringify(statement)), device.signing)
  return { ...certificate, signature: { ...certificate.signature, value } }
}

function asIssued(issuer: Identity, issued: Statement, device: string): readonly Vector[] {
  const of = (name: string, change: object): Vector =>
    signed('invalid_input', name, issuer, { ...issued, ...change })
  const { issued_by: _, ...without } = issued
  return [
    signed('accepted', 'issued by another device', issuer, issued),
    of('issued with an old head', { old_head: oldHead }),
    of('issued with objects', { object_ids: [oldHead] }),
    of('issued with kept versions', { may_repeat: [version('kept')] }),
    signed('invalid_input', 'issued by no one', issuer, without),
    signed('certificate_invalid', 'issued by a device that has not signed', issuer, {
      ...issued,
      issued_by: device,
    }),
  ]
}

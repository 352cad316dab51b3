// Reads the text of a certificate (FORMAT §10.1) strictly: one statement has one text, white space
// aside, so that nothing is read that was not signed. Shows that the key which the certificate
// names has signed it, and no more: certificate-check.ts or a pinned key shows whose key that is.

import { utf8 } from '../../bytes.ts'
import { hasCode, StoreError } from '../../errors.ts'
import type { Operation } from '../../format/change-record.ts'
import { deviceIdOf, formatId, type IdKind, parseId } from '../../format/id.ts'
import { isRedactReason } from '../../format/record.ts'
import { parseSshPublicKey, verifySshSignature } from '../../format/sshsig.ts'
import { certificateBytesMax } from '../../limits.ts'
import { checkActor, checkAuthor } from '../commits/author.ts'
import {
  certificateNamespace,
  type RedactedVersion,
  type RedactionCertificate,
  type Statement,
} from './certificate.ts'

type JsonFields = Readonly<Record<string, unknown>>

/** An object, its list of versions, and one of those. */
const DEPTH_MAX = 3
const OID = /^[0-9a-f]{40}$/
const HASH = /^[0-9a-f]{64}$/
const operations: ReadonlySet<unknown> = new Set<Operation>(['created', 'modified', 'deleted'])

/**
 * Throws `invalid_input` for anything but a certificate, `upgrade_required` for one of a later
 * release, and `certificate_invalid` unless the key that it names has signed it and gives the id of
 * the device that it names. libsodium must be loaded.
 */
export function readCertificate(given: string | RedactionCertificate): RedactionCertificate {
  const text = typeof given === 'string' ? given : textOf(given)
  const fields = parse(text)
  const { signature, ...statement } = readShape(fields)
  const certificate = { ...statement, signature }
  if (withoutSpace(text) !== withoutSpace(JSON.stringify(certificate))) {
    throw malformed('its members are not exactly those of a certificate, in their order')
  }
  checkConsistent(statement)
  if (signature.namespace !== certificateNamespace) throw malformed('its namespace is another one')
  const publicKey = parseSshPublicKey(signature.public_key)
  if (publicKey === undefined) throw malformed('its public key is not an ssh-ed25519 key')
  if (formatId('device', deviceIdOf(publicKey)) !== statement.device_id) {
    throw invalid('is signed by another key than that of the device that it names')
  }
  checkSignature(statement, signature.value, publicKey)
  return certificate
}

function checkSignature(statement: Statement, value: string, publicKey: Uint8Array): void {
  const message = utf8(JSON.stringify(statement))
  try {
    verifySshSignature(certificateNamespace, message, value, publicKey)
  } catch (error) {
    if (!hasCode(error, 'device_signature_invalid')) throw error
    throw invalid('does not carry a valid signature of the key that it names')
  }
}

function parse(text: string): JsonFields {
  if (text.length > certificateBytesMax) throw malformed('it is too large')
  checkDepth(text)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw malformed('it is not JSON')
  }
  const fields = fieldsOf(value, 'It')
  if (fields['type'] !== 'gitlocket_redaction') throw malformed('it is not of that type')
  const { version } = fields
  if (typeof version !== 'number' || version < 1) throw malformed('it has no version')
  if (version === 1) return fields
  throw new StoreError('upgrade_required', 'The certificate was made by a newer release')
}

/** No string of a certificate holds a bracket, so that they need not be told from those of JSON. */
function checkDepth(text: string): void {
  let depth = 0
  for (const [bracket] of text.matchAll(/[[\]{}]/g)) {
    depth += bracket === '[' || bracket === '{' ? 1 : -1
    if (depth > DEPTH_MAX) throw malformed('it is nested too deeply')
  }
}

function readShape(fields: JsonFields): RedactionCertificate {
  const { reason, session_id: session } = fields
  if (!isRedactReason(reason)) throw malformed('its reason is not a known one')
  const { actor } = readAuthor(fieldsOf(fields['actor'], 'Its actor'), session)
  const signature = fieldsOf(fields['signature'], 'Its signature')
  return {
    type: 'gitlocket_redaction',
    version: 1,
    store_id: readId('store', fields['store_id']),
    reason,
    redacted_at: readTime(fields['redacted_at']),
    actor,
    session_id: typeof session === 'string' ? session : null,
    device_id: readId('device', fields['device_id']),
    records: listOf(fields['records'], 'records', (one) => readHash(HASH, one)),
    commits: listOf(fields['commits'], 'commits', (one) => readHash(OID, one)),
    old_head: readHash(OID, fields['old_head']),
    new_head: readHash(OID, fields['new_head']),
    versions: listOf(fields['versions'], 'versions', readVersion),
    may_repeat: manyOf(fields['may_repeat'], (one) => readId('version', one)),
    object_ids: listOf(fields['object_ids'], 'object ids', (one) => readHash(OID, one)),
    signature: {
      public_key: readText(signature['public_key']),
      namespace: readText(signature['namespace']),
      value: readText(signature['value']),
    },
  }
}

/** What follows from the members alone. */
function checkConsistent(statement: Statement): void {
  const { records, commits, old_head, new_head, versions, may_repeat, object_ids } = statement
  const ids = [...versions.map((one) => one.memory_version_id), ...may_repeat]
  for (const list of [records, commits, ids]) {
    if (new Set(list).size !== list.length) throw malformed('it names something twice')
  }
  if (!object_ids.every((oid, index) => index === 0 || (object_ids[index - 1] ?? '') < oid)) {
    throw malformed('its object ids do not ascend')
  }
  if (records.length !== commits.length || commits.at(-1) !== new_head) {
    throw malformed('its records, its commits and its new head do not fit together')
  }
  if (!object_ids.includes(old_head) || object_ids.includes(new_head)) {
    throw malformed('its object ids do not fit its heads')
  }
}

function readAuthor(actor: JsonFields, session: unknown): ReturnType<typeof checkAuthor> {
  const { type, id } = actor
  if (session !== null && typeof session !== 'string') throw malformed('its session is not an id')
  try {
    const checked = checkActor({ type, id })
    return checkAuthor({ actor: checked, ...(session === null ? {} : { session }) })
  } catch (error) {
    if (hasCode(error, 'invalid_input')) throw malformed('its actor or session is not an id')
    throw error
  }
}

function readVersion(value: unknown): RedactedVersion {
  const fields = fieldsOf(value, 'A version')
  const { operation } = fields
  if (!isOperation(operation)) throw malformed('an operation is not a known one')
  return {
    memory_version_id: readId('version', fields['memory_version_id']),
    memory_id: readId('memory', fields['memory_id']),
    operation,
  }
}

function isOperation(value: unknown): value is Operation {
  return operations.has(value)
}

/** Throws for an empty list. */
function listOf<T>(value: unknown, what: string, read: (one: unknown) => T): readonly T[] {
  const list = manyOf(value, read)
  if (list.length > 0) return list
  throw malformed(`it names no ${what}`)
}

function manyOf<T>(value: unknown, read: (one: unknown) => T): readonly T[] {
  if (Array.isArray(value)) return value.map((one: unknown) => read(one))
  throw malformed('a member is missing or is no list')
}

function readId(kind: IdKind, value: unknown): string {
  const text = readText(value)
  try {
    parseId(kind, text)
  } catch {
    throw malformed(`a ${kind} id is not one`)
  }
  return text
}

function readTime(value: unknown): string {
  const text = readText(value)
  const time = Date.parse(text)
  if (Number.isNaN(time) || new Date(time).toISOString() !== text) {
    throw malformed('its time is not in RFC 3339')
  }
  return text
}

function readHash(form: RegExp, value: unknown): string {
  const text = readText(value)
  if (!form.test(text)) throw malformed('an object id or a hash is not one')
  return text
}

function readText(value: unknown): string {
  if (typeof value === 'string') return value
  throw malformed('a member is missing or is not text')
}

function fieldsOf(value: unknown, what: string): JsonFields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return Object.fromEntries(Object.entries(value))
  }
  throw malformed(`${what.toLowerCase()} is not an object`)
}

/** White space within strings is removed too: their values are compared apart. */
function withoutSpace(text: string): string {
  return text.replaceAll(/[ \t\r\n]+/g, '')
}

function invalid(problem: string): StoreError {
  return new StoreError('certificate_invalid', `The certificate ${problem}`)
}

/** What a caller without types passes may have no text, or refuse to be made one. */
function textOf(given: RedactionCertificate): string {
  try {
    const text: unknown = JSON.stringify(given)
    if (typeof text === 'string') return text
  } catch {
    // Refused like a file without a text.
  }
  throw malformed('it is not JSON')
}

function malformed(problem: string): StoreError {
  return new StoreError('invalid_input', `This is no certificate of a redaction: ${problem}`)
}

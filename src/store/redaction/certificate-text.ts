// Reads the text of a certificate (FORMAT §10.1) strictly: one statement has one text, white space
// aside, so that nothing is read that was not signed. Shows that the key which the certificate
// names has signed it, and no more: certificate-check.ts or a pinned key shows whose key that is.

import { utf8 } from '../../bytes.ts'
import { hasCode, StoreError } from '../../errors.ts'
import type { Actor } from '../../format/change-record.ts'
import { deviceIdOf, formatId, type IdKind, parseId } from '../../format/id.ts'
import { redactReasons } from '../../format/record.ts'
import { parseSshPublicKey, verifySshSignature } from '../../format/sshsig.ts'
import { certificateBytesMax } from '../../limits.ts'
import { checkAuthor } from '../commits/author.ts'
import {
  certificateNamespace,
  signerOf,
  type RedactedVersion,
  type RedactionCertificate,
  type Statement,
} from './certificate.ts'

/** An object, its list of versions, and one of those. */
const DEPTH_MAX = 3

const recordType = 'gitlocket_redaction_record'

/**
 * Throws `invalid_input` for anything but a certificate, `upgrade_required` for one of a later
 * release, and `certificate_invalid` unless the key that it names has signed it and gives the id of
 * the device that it names. libsodium must be loaded.
 */
export function readCertificate(given: string | RedactionCertificate): RedactionCertificate {
  const text = typeof given === 'string' ? given : textOf(given)
  const value = parse(text)
  const certificate = head(value).type === recordType ? readIssued(value) : readFirst(value)
  const { signature, ...statement } = certificate
  if (withoutSpace(text) !== withoutSpace(JSON.stringify(certificate))) {
    throw malformed('its members are not exactly those of a certificate, in their order')
  }
  checkAuthorOf(statement)
  checkConsistent(statement)
  if (signature.namespace !== certificateNamespace) throw malformed('its namespace is another one')
  const publicKey = parseSshPublicKey(signature.public_key)
  if (publicKey === undefined) throw malformed('its public key is not an ssh-ed25519 key')
  if (formatId('device', deviceIdOf(publicKey)) !== signerOf(statement)) {
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

function parse(text: string): object {
  if (text.length > certificateBytesMax) throw malformed('it is too large')
  checkDepth(text)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw malformed('it is not JSON')
  }
  const { type, version } = head(value)
  if (type !== 'gitlocket_redaction' && type !== recordType)
    throw malformed('it is not of that type')
  if (version < 1) throw malformed('it has no version')
  if (version === 1) return Object(value)
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

/** Checks what the members themselves show. */
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
  if (statement.type === recordType) return
  if (!object_ids.includes(old_head ?? '') || object_ids.includes(new_head)) {
    throw malformed('its object ids do not fit its heads')
  }
}

/** Reads a value of JSON, or throws `invalid_input`. */
type Read<T> = (value: unknown) => T

/** Reads an object with these members, in this order; others are found by comparing the texts. */
function object<T extends object>(members: { readonly [K in keyof T]: Read<T[K]> }): Read<T> {
  return (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw malformed('a member is not an object')
    }
    const fields = new Map<string, unknown>(Object.entries(value))
    return Object.fromEntries(
      Object.entries<Read<unknown>>(members).map(([name, read]): unknown[] => {
        return [name, read(fields.get(name))]
      }),
    )
  }
}

function listOf<T>(read: Read<T>, lengthMin: number): Read<readonly T[]> {
  return (value) => {
    if (!Array.isArray(value)) throw malformed('a member is missing or is no list')
    if (value.length < lengthMin) throw malformed('a list is empty')
    return value.map((one: unknown) => read(one))
  }
}

/** A text for which the check neither returns false nor throws. */
function textWith(check: (value: string) => unknown): Read<string> {
  return (value) => {
    if (typeof value !== 'string') throw malformed('a member is missing or is not text')
    try {
      if (check(value) !== false) return value
    } catch (error) {
      if (!hasCode(error, 'invalid_input')) throw error
    }
    throw malformed('an id, a hash or a time is not one')
  }
}

/** One of these values. */
function oneOf<const T>(...values: readonly T[]): Read<T> {
  return (value) => {
    const found = values.find((one) => one === value)
    if (found === undefined) throw malformed('a member is not one of the known values')
    return found
  }
}

const idOf = (kind: IdKind): Read<string> => textWith((id) => parseId(kind, id))
const oid = textWith((digits) => /^[0-9a-f]{40}$/.test(digits))
const anyText = textWith(() => true)
const isTime = (time: string): boolean =>
  !Number.isNaN(Date.parse(time)) && new Date(time).toISOString() === time

const head = object<{ readonly type: string; readonly version: number }>({
  type: anyText,
  version: (value) => (typeof value === 'number' ? value : 0),
})

/** A list that must be empty. */
const noOnes: Read<readonly string[]> = (value) => {
  if (Array.isArray(value) && value.length === 0) return []
  throw malformed('a list must be empty in one that is issued from the record')
}

const hashes = listOf(
  textWith((digits) => /^[0-9a-f]{64}$/.test(digits)),
  1,
)
const facts = {
  store_id: idOf('store'),
  reason: oneOf(...redactReasons),
  redacted_at: textWith(isTime),
  actor: object<Actor>({ type: oneOf('api', 'user', 'service_account', 'session'), id: anyText }),
  session_id: (value: unknown) => (value === null ? null : anyText(value)),
  device_id: idOf('device'),
}
const versions = listOf(
  object<RedactedVersion>({
    memory_version_id: idOf('version'),
    memory_id: idOf('memory'),
    operation: oneOf('created', 'modified', 'deleted'),
  }),
  1,
)
const signature = object<RedactionCertificate['signature']>({
  public_key: anyText,
  namespace: anyText,
  value: anyText,
})

/** Made by the device that redacted. */
const readFirst = object<Omit<RedactionCertificate, 'issued_by'>>({
  type: oneOf('gitlocket_redaction'),
  version: oneOf(1),
  ...facts,
  records: hashes,
  commits: listOf(oid, 1),
  old_head: oid,
  new_head: oid,
  versions,
  may_repeat: listOf(idOf('version'), 0),
  object_ids: listOf(oid, 1),
  signature,
})

/** Issued from the record alone. */
const readIssued = object<Required<RedactionCertificate>>({
  type: oneOf(recordType),
  version: oneOf(1),
  ...facts,
  issued_by: idOf('device'),
  records: hashes,
  commits: listOf(oid, 1),
  old_head: oneOf(null),
  new_head: oid,
  versions,
  may_repeat: noOnes,
  object_ids: noOnes,
  signature,
})

function checkAuthorOf({ actor, session_id: session }: Statement): void {
  try {
    checkAuthor({ actor, ...(session === null ? {} : { session }) })
  } catch (error) {
    if (hasCode(error, 'invalid_input')) throw malformed('its actor or session is not an id')
    throw error
  }
}

/** White space within strings is removed too: their values are compared apart. */
function withoutSpace(text: string): string {
  return text.replaceAll(/[ \t\r\n]+/g, '')
}

function invalid(problem: string): StoreError {
  return new StoreError('certificate_invalid', `The certificate ${problem}`)
}

/** A value that a caller without types passes may have no text, or refuse to be made one. */
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

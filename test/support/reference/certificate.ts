// FORMAT §10.1: the text of a certificate of a redaction, as far as it proves itself: its members,
// the key that gives the device id, and the signature.

import { concat, u32, utf8 } from './bytes.ts'
import { sha512 } from './hash.ts'
import { deviceIdOf, formatId, type IdKind, isCallerId, parseId } from './identity.ts'
import { ensure, refuse } from './refusal.ts'
import { verifySignature } from './signature.ts'
import { base64Lines, sshPublicKey, sshString } from './sshsig.ts'

const namespace = 'gitlocket-redaction'
const reasons = wordsOf('unspecified leaked_secret personal_data legal poisoned retention')
const actorTypes = wordsOf('api user service_account session')
const operations = wordsOf('created modified deleted')

function wordsOf(text: string): ReadonlySet<string> {
  return new Set(text.split(' '))
}

type Fields = Readonly<Record<string, unknown>>

/** The members of an object, by their names; refuses anything else. */
function fieldsOf(value: unknown, names: string): Fields {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  ensure(isObject, 'invalid_input', 'A member is not an object')
  const found = Object.entries(Object(value))
  const given = found.map(([name]) => name).join(' ')
  ensure(given === names, 'invalid_input', 'The members are others, or in another order')
  return Object.fromEntries(found)
}

function textOf(value: unknown, isOne: (text: string) => boolean): string {
  if (typeof value === 'string' && isOne(value)) return value
  return refuse('invalid_input', 'A member is not the text that it must be')
}

function listOf<T>(value: unknown, least: number, read: (one: unknown) => T): readonly T[] {
  ensure(Array.isArray(value), 'invalid_input', 'A member is not a list')
  const list: readonly unknown[] = Array.isArray(value) ? value : []
  ensure(list.length >= least, 'invalid_input', 'A list is empty')
  return list.map(read)
}

function idOf(value: unknown, kind: IdKind): string {
  const text = textOf(value, () => true)
  return formatId(kind, parseId(kind, text))
}

const hexOf = (value: unknown, digits: number): string =>
  textOf(value, (text) => text.length === digits && /^[0-9a-f]+$/.test(text))

function isTime(text: string): boolean {
  const ms = Date.parse(text)
  return !Number.isNaN(ms) && new Date(ms).toISOString() === text
}

const before = 'type version store_id reason redacted_at actor session_id device_id'
const after = 'records commits old_head new_head versions may_repeat object_ids signature'

/** The statement as it was signed. */
export function readCertificate(text: string): string {
  const value = jsonOf(text)
  const { type, version } = Object(value)
  const isIssued = type === 'gitlocket_redaction_record'
  ensure(isIssued || type === 'gitlocket_redaction', 'invalid_input', 'The type is another one')
  if (typeof version === 'number' && version > 1) {
    refuse('upgrade_required', 'The certificate has a later version')
  }
  ensure(version === 1, 'invalid_input', 'The certificate has no version')
  const fields = fieldsOf(value, `${before}${isIssued ? ' issued_by' : ''} ${after}`)
  // A name that is given twice, a number in another form or an escape would be read as another one.
  const compact = (json: string): string => json.replaceAll(/[ \t\r\n]/g, '')
  const isSame = compact(text) === compact(JSON.stringify(value))
  ensure(isSame, 'invalid_input', 'The text differs in more than white space')
  checkFacts(fields)
  checkLists(fields, isIssued)
  const { signature, ...statement } = fields
  const signed = JSON.stringify(statement)
  checkSigned(signed, signature, idOf(fields[isIssued ? 'issued_by' : 'device_id'], 'device'))
  return signed
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return refuse('invalid_input', 'The text is not JSON')
  }
}

function checkFacts(fields: Fields): void {
  idOf(fields['store_id'], 'store')
  idOf(fields['device_id'], 'device')
  textOf(fields['reason'], (reason) => reasons.has(reason))
  textOf(fields['redacted_at'], isTime)
  const actor = fieldsOf(fields['actor'], 'type id')
  const type = textOf(actor['type'], (one) => actorTypes.has(one))
  const id = textOf(actor['id'], isCallerId)
  if (fields['session_id'] === null) return
  const session = textOf(fields['session_id'], isCallerId)
  // §6.1
  ensure(type !== 'session' || session === id, 'invalid_input', 'The session is another actor')
}

function checkLists(fields: Fields, isIssued: boolean): void {
  const records = listOf(fields['records'], 1, (one) => hexOf(one, 64))
  const commits = listOf(fields['commits'], 1, (one) => hexOf(one, 40))
  const newHead = hexOf(fields['new_head'], 40)
  ensure(records.length === commits.length, 'invalid_input', 'A record has no commit')
  ensure(commits.at(-1) === newHead, 'invalid_input', 'The last commit is not the new head')
  const versions = listOf(fields['versions'], 1, (one) => {
    const version = fieldsOf(one, 'memory_version_id memory_id operation')
    idOf(version['memory_id'], 'memory')
    textOf(version['operation'], (operation) => operations.has(operation))
    return idOf(version['memory_version_id'], 'version')
  })
  const mayRepeat = listOf(fields['may_repeat'], 0, (one) => idOf(one, 'version'))
  const objects = listOf(fields['object_ids'], isIssued ? 0 : 1, (one) => hexOf(one, 40))
  for (const list of [records, commits, [...versions, ...mayRepeat], objects]) {
    ensure(new Set(list).size === list.length, 'invalid_input', 'A value is repeated')
  }
  if (isIssued) {
    const isEmpty = mayRepeat.length + objects.length === 0 && fields['old_head'] === null
    return ensure(isEmpty, 'invalid_input', 'It claims more than the record has')
  }
  const oldHead = hexOf(fields['old_head'], 40)
  const ascending = objects.toSorted().join() === objects.join()
  ensure(ascending, 'invalid_input', 'The objects do not ascend')
  ensure(objects.includes(oldHead), 'invalid_input', 'The old head was not erased')
  ensure(!objects.includes(newHead), 'invalid_input', 'The new head was erased')
}

function checkSigned(signed: string, value: unknown, deviceId: string): void {
  const signature = fieldsOf(value, 'public_key namespace value')
  textOf(signature['namespace'], (text) => text === namespace)
  const key = textOf(signature['public_key'], () => true)
  const publicKey = new Uint8Array(Buffer.from(key.split(' ')[1] ?? '', 'base64')).slice(-32)
  const blob = sshPublicKey(publicKey)
  const isKey = key === `ssh-ed25519 ${Buffer.from(blob).toString('base64')}`
  ensure(isKey && publicKey.length === 32, 'invalid_input', 'The key is not of ssh-ed25519')
  const isOfDevice = formatId('device', deviceIdOf(publicKey)) === deviceId
  ensure(isOfDevice, 'certificate_invalid', 'The key does not give the device id')
  const scope = concat(sshString(namespace), sshString(''), sshString('sha512'))
  const armor = textOf(signature['value'], () => true)
  const lines = armor.split('\n').slice(1, -2).join('')
  const last = new Uint8Array(Buffer.from(lines, 'base64')).slice(-64)
  const inner = sshString(concat(sshString('ssh-ed25519'), sshString(last)))
  const whole = concat(utf8('SSHSIG'), u32(1), sshString(blob), scope, inner)
  const again = `BEGIN SSH SIGNATURE-----\n${base64Lines(whole, 70)}-----END SSH SIGNATURE`
  ensure(
    armor === `-----${again}-----\n`,
    'certificate_invalid',
    'The armor is not that of an SSHSIG',
  )
  const message = concat(utf8('SSHSIG'), scope, sshString(sha512(utf8(signed))))
  verifySignature(message, last, publicKey, 'certificate_invalid')
}

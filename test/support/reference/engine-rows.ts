// FORMAT §14: rows of a database that servers share: bodies of a log, entries, parts, bases, and
// the records of a host. Each function returns what it reads in one plain form.

import { concat, fromHex, Reader, toHex, u64, u8, utf8, utf8Text } from './bytes.ts'
import { openEnvelope } from './envelope.ts'
import { H, keyedH, subkey } from './hash.ts'
import { deviceIdOf, type Identity } from './identity.ts'
import { ensure, type Refusal, refuse } from './refusal.ts'
import { publicKeyOf } from './signature.ts'

const context = 'GLK1keys'
const roles = { catalogue: 8, credentials: 9, entry: 12, part: 13 } as const
const objectTypes = ['commit', 'tree', 'blob']

export type RowRole = keyof typeof roles

interface Place {
  readonly identity: Identity
  /** 32 hex digits. */
  readonly storeId: string
  readonly role: RowRole
  readonly generation: number
}

type Fields = Readonly<Record<string, unknown>>

/** The padded plaintext of a body. */
function openRow({ identity, storeId, role, generation }: Place, body: Uint8Array): Uint8Array {
  const { localSecret, signingSeed } = identity
  const keys = {
    kid: '0'.repeat(32),
    key: subkey(localSecret, 1, context),
    saltKey: subkey(localSecret, 4, context),
  }
  const device = deviceIdOf(publicKeyOf(signingSeed))
  const ctx = concat(fromHex(storeId + device), u8(roles[role]), u64(generation))
  return openEnvelope('cache', keys, ctx, body)
}

// §14.1

export function openLogRow(place: Place, id: string, body: Uint8Array): Uint8Array {
  const reader = new Reader(openRow(place, body), 'envelope_truncated')
  if (place.role === 'part') {
    ensure(reader.hex(16) === id, 'envelope_truncated', 'This is a part of another id')
  }
  return reader.raw(reader.u32())
}

// §14.2, §14.3

interface StoredObject {
  readonly type: string
  readonly oid: string
  readonly body: string
}

interface Frame {
  readonly expected: string
  readonly next: string
  readonly objects: readonly StoredObject[]
}

export interface LogEntry {
  readonly head: Fields
  readonly dead: readonly string[]
  readonly frames: readonly Frame[]
}

export function readEntry(bytes: Uint8Array): LogEntry {
  const reader = new Reader(bytes, 'journal_corrupt')
  ensure(reader.u8() === 1, 'upgrade_required', 'The entry is of a later version')
  const head = jsonOf(reader.raw(reader.u32()), 'journal_corrupt')
  const { kind, dead: count = 0 } = head
  if (kind !== 'commit') {
    const isKnown = kind === 'packs' || kind === 'ref' || kind === 'remote'
    ensure(isKnown, 'journal_corrupt', 'The kind is unknown')
    reader.end()
    return { head, dead: [], frames: [] }
  }
  const dead = Array.from({ length: Number(count) }, () => reader.hex(20))
  const frames = readFrames(reader.rest())
  const isWhole = head['dead'] === undefined || frames.length > 0
  ensure(isWhole, 'journal_corrupt', 'A redaction has no frame')
  return { head, dead, frames }
}

export function readFrames(bytes: Uint8Array): readonly Frame[] {
  const frames: Frame[] = []
  for (let rest = bytes; rest.length > 0;) {
    const reader = new Reader(rest, 'journal_corrupt')
    const frame = reader.raw(reader.u32())
    frames.push(readFrame(frame))
    rest = reader.rest()
  }
  return frames
}

function readFrame(bytes: Uint8Array): Frame {
  const reader = new Reader(bytes, 'journal_corrupt')
  const [expected, next] = [reader.hex(20), reader.hex(20)]
  const objects: StoredObject[] = []
  while (reader.offset < bytes.length) {
    const type = objectTypes[reader.u8() - 1] ?? refuse('journal_corrupt', 'No such type')
    const oid = reader.hex(20)
    objects.push({ type, oid, body: toHex(reader.raw(reader.u32())) })
  }
  return { expected, next, objects }
}

// §14.4

export interface BaseState {
  readonly head: unknown
  readonly tracked: unknown
  readonly remotes: unknown
  /** Name to contents. */
  readonly files: Readonly<Record<string, string>>
}

export function readBase(number: number, parts: readonly Uint8Array[]): BaseState {
  const rest = [...parts]
  const next = (): Uint8Array => rest.shift() ?? refuse('journal_corrupt', 'A part is missing')
  const manifest = jsonOf(next(), 'journal_corrupt')
  ensure(manifest['version'] === 1, 'upgrade_required', 'The base is of a later version')
  ensure(manifest['number'] === number, 'journal_corrupt', 'The base is that of another entry')
  const { head, tracked, remotes, files: listed } = manifest
  const files: Record<string, string> = {}
  for (const file of Array.isArray(listed) ? listed.map(fieldsOf) : []) {
    const [name, size] = [String(file['name']), Number(file['bytes'])]
    const isName = /^pack-[0-9a-f]{40}\.(?:pack|idx)$/.test(name)
    ensure(isName, 'journal_corrupt', 'This is no name of a pack')
    let contents: Uint8Array = new Uint8Array()
    while (contents.length < size) {
      const part = next()
      contents = concat(contents, part)
      const fits = part.length > 0 && contents.length <= size
      ensure(fits, 'journal_corrupt', 'A part has another size')
    }
    files[name] = toHex(contents)
  }
  return { head, tracked, remotes, files }
}

// §14.5

export interface HostRow {
  readonly table: string
  readonly id: string
  readonly scope: string
  readonly time: number
  readonly weight: number
}

export function openHostRow(place: Omit<Place, 'storeId'>, row: HostRow, body: Uint8Array): Fields {
  const storeId = toHex(H(utf8(`${row.table}\u0020${row.id}`)).slice(0, 16))
  const { version, record } = jsonOf(openHostBody({ ...place, storeId }, body), 'wrong_key')
  ensure(version === 1, 'upgrade_required', 'The record is of a later version')
  const fields = fieldsOf(record)
  const [id, scope, time, weight] = factsOf(row.table, fields)
  const isSame = id === row.id && scope === row.scope && time === row.time && weight === row.weight
  ensure(isSame, 'wrong_key', 'The row repeats other facts')
  return fields
}

function openHostBody(place: Place, body: Uint8Array): Uint8Array {
  try {
    const padded = openRow(place, body)
    return padded.slice(0, padded.includes(0) ? padded.indexOf(0) : undefined)
  } catch {
    return refuse('wrong_key', 'The row does not open')
  }
}

function factsOf(table: string, fields: Fields): readonly unknown[] {
  const { workspaceId, createdAt } = fields
  if (table === 'workspaces') return [workspaceId, '', createdAt, 0]
  if (table === 'stores') return [fields['storeId'], workspaceId, createdAt, 0]
  if (table === 'keys') return [fields['keyId'], workspaceId, createdAt, 0]
  const { sessionId, keyId, expiresAt, instructions = [] } = fields
  const texts = Array.isArray(instructions) ? instructions.map((pair) => String(pair[1])) : []
  return [sessionId, keyId, expiresAt, texts.join('').length]
}

// §14.6

export interface ListedRow {
  readonly table: string
  readonly generation: number
  readonly id: string
  readonly body: Uint8Array
}

export function openHead(
  place: Omit<Place, 'storeId'>,
  rows: readonly ListedRow[],
  body: Uint8Array,
): Fields {
  const padded = openRow({ ...place, storeId: 'ff'.repeat(16) }, body)
  const text = padded.slice(0, padded.includes(0) ? padded.indexOf(0) : undefined)
  const { version, digest, since } = jsonOf(text, 'wrong_key')
  ensure(version === 1, 'upgrade_required', 'The head is of a later version')
  const key = subkey(place.identity.localSecret, 5, context)
  const sum = new Uint8Array(32)
  for (const row of rows) {
    const { table, generation, id } = row
    const parts = [place.role, table, generation, id, toHex(H(row.body))]
    const hash = keyedH(key, utf8(parts.join('\u0020')))
    for (const [at, byte] of hash.entries()) sum[at] = (sum[at] ?? 0) ^ byte
  }
  ensure(digest === toHex(sum), 'rolled_back', 'These are not the rows of the list')
  return { digest, since }
}

function jsonOf(bytes: Uint8Array, kind: Refusal): Fields {
  const text = utf8Text(bytes, kind)
  try {
    return fieldsOf(JSON.parse(text))
  } catch {
    return refuse(kind, 'This is not JSON')
  }
}

function fieldsOf(value: unknown): Fields {
  return Object.fromEntries(Object.entries(Object(value)))
}

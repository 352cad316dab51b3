// FORMAT §12, §13: what a device keeps at a remote for the holders of its grants. Wraps give them
// the keys of an epoch, starts the state at a head.

import { concat, equal, fromHex, label, Reader, utf8, utf8Text } from './bytes.ts'
import { checkPadding, openEnvelope, startContext, wrapContext } from './envelope.ts'
import type { GrantKeys } from './grant-text.ts'
import { H } from './hash.ts'
import { deviceIdOf } from './identity.ts'
import { contentKeys, type Epoch, fullEpoch } from './keys.ts'
import { checkPath } from './path.ts'
import { ensure, refuse } from './refusal.ts'
import { verifySignature } from './signature.ts'

const zeroKid = '00'.repeat(16)
const wrapLength = 96 + 512

/** The epoch that the wraps of a granter hold for one grant; undefined if they hold none. */
export function openWraps(
  bytes: Uint8Array,
  granterKey: Uint8Array,
  { grantId, wrapKey, wrapSaltKey }: GrantKeys,
): Epoch | undefined {
  const reader = new Reader(bytes, 'wraps_malformed')
  ensure(equal(reader.raw(4), utf8('GLKW')), 'wraps_malformed', 'These are no wraps')
  ensure(reader.u8() === 1, 'upgrade_required', 'The wraps have another version')
  ensure(reader.u8() === 0, 'wraps_malformed', 'A reserved byte is set')
  const count = reader.u16()
  const counts = [4, 8, 16, 32, 64, 128, 256, 512, 1024]
  ensure(counts.includes(count), 'wraps_malformed', 'The number of wraps is none of those')
  const [kid, seed] = [reader.hex(16), reader.hex(16)]
  reader.u64()
  const wraps = Array.from({ length: count }, () => reader.hex(wrapLength))
  const ascends = wraps.every((wrap, index) => index === 0 || (wraps[index - 1] ?? '') < wrap)
  ensure(ascends, 'wraps_malformed', 'The wraps do not ascend')
  const before = bytes.slice(0, reader.offset)
  const signature = reader.raw(64)
  reader.end()
  verifySignature(concat(label('GLK1/wraps/v1'), fromHex(seed), H(before)), signature, granterKey)
  const keys = { kid: zeroKid, key: wrapKey, saltKey: wrapSaltKey }
  for (const wrap of wraps) {
    const padded = openOwn(() =>
      openEnvelope('wrap', keys, wrapContext(seed, grantId, kid), fromHex(wrap)),
    )
    if (padded === undefined) continue
    checkPadding('wrap', padded, 64)
    const epoch = fullEpoch(seed, padded.slice(0, 32), padded.slice(32, 64))
    ensure(epoch.kid === kid, 'keyring_mismatch', 'The keys are those of another epoch')
    return epoch
  }
  return undefined
}

/** What opens under another key has another commitment. */
function openOwn(open: () => Uint8Array): Uint8Array | undefined {
  try {
    return open()
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('envelope_commitment')) return undefined
    throw error
  }
}

type Fields = Readonly<Record<string, unknown>>

/** The granter's statement, with bytes as hex. */
export function openStart(
  bytes: Uint8Array,
  epoch: Epoch,
  seed: string,
  granterKey: Uint8Array,
): Fields {
  ensure(bytes.length <= 64 * 1024 * 1024, 'start_malformed', 'A start has at most 64 MiB')
  const reader = new Reader(bytes, 'start_malformed')
  ensure(equal(reader.raw(4), utf8('GLKS')), 'start_malformed', 'This is no start')
  ensure(reader.u8() === 1, 'upgrade_required', 'The start has another version')
  ensure(reader.hex(3) === '000000', 'start_malformed', 'A reserved byte is set')
  const kid = reader.hex(16)
  ensure(reader.hex(16) === seed, 'start_malformed', 'The start is of another store')
  ensure(kid === epoch.kid, 'envelope_epoch', 'The start is of another epoch')
  const before = bytes.slice(0, reader.offset)
  const keys = contentKeys(epoch, 'start')
  const padded = openEnvelope('start', keys, startContext(seed, before), reader.rest())
  const inner = new Reader(padded, 'start_malformed')
  const start = readStart(inner)
  const said = concat(before, padded.slice(0, inner.offset))
  const signature = inner.raw(64)
  checkPadding('start', padded, inner.offset)
  verifySignature(concat(label('GLK1/start/v1'), fromHex(seed), H(said)), signature, granterKey)
  const isOwn = start['granter'] === deviceIdOf(granterKey)
  ensure(isOwn, 'start_malformed', 'The key is not the granter’s')
  return start
}

function readStart(reader: Reader): Fields {
  const granter = reader.hex(16)
  const [counter, time] = [reader.u64(), reader.u64()]
  const genesis = { record: reader.hex(32), time: reader.u64() }
  const kids = readIds(reader)
  const redacted = readIds(reader)
  const state = readHead(reader, kids, true)
  const floor = readFlag(reader) ? readHead(reader, kids, false) : undefined
  return { granter, counter, time, genesis, kids, redacted, state, floor }
}

function readIds(reader: Reader): readonly string[] {
  return ascending(
    readList(reader, () => reader.hex(16)),
    (id) => id,
  )
}

/** A floor has what differs from the state. */
function readHead(reader: Reader, kids: readonly string[], isState: boolean): Fields {
  const [record, height] = [reader.hex(32), reader.u64()]
  const [commit, tree] = [reader.hex(20), reader.hex(20)]
  const keyring = readFlag(reader)
    ? { record: reader.hex(32), blob: reader.hex(reader.u32()) }
    : undefined
  const settings = readFlag(reader) ? readSettings(reader) : undefined
  const devices = ascending(
    readList(reader, () => readDevice(reader)),
    (one) => one.deviceId,
  )
  const grants = ascending(
    readList(reader, () => readGrant(reader)),
    (one) => one.key,
  )
  const memories = ascending(
    readList(reader, () => readMemory(reader, kids)),
    (m) => m.memoryId,
  )
  if (isState) {
    const all = [...devices, ...grants, ...memories]
    const isWhole = keyring !== undefined && settings !== undefined
    const isThere = all.every(({ value }) => value !== undefined)
    ensure(isWhole && isThere, 'start_malformed', 'A state is whole')
  }
  return { record, height, commit, tree, keyring, settings, devices, grants, memories }
}

function readSettings(reader: Reader): Fields {
  const [record, height, time] = [reader.hex(32), reader.u64(), reader.u64()]
  return { record, height, time, blob: reader.hex(reader.u32()) }
}

interface Item {
  readonly value: Fields | undefined
}

function readDevice(reader: Reader): Item & { readonly deviceId: string } {
  const [deviceId, sequence, record] = [reader.hex(16), reader.u64(), reader.hex(32)]
  const forked = readFlag(reader)
  if (sequence > 0) return { deviceId, value: { sequence, record, forked } }
  ensureZero(record, forked)
  return { deviceId, value: undefined }
}

function readGrant(reader: Reader): Item & { readonly key: string } {
  const [key, granter, role, notAfter] = [reader.hex(32), reader.hex(16), reader.u8(), reader.u64()]
  const ended = readFlag(reader)
  if (role === 0) {
    ensureZero(granter, notAfter, ended)
    return { key, value: undefined }
  }
  ensure(role === 2 || role === 3, 'start_malformed', 'A grant is a writer’s or a reader’s')
  const value = { granter, role: role === 2 ? 'writer' : 'reader', notAfter, ended }
  return { key, value }
}

function readMemory(reader: Reader, kids: readonly string[]): Item & { readonly memoryId: string } {
  const [memoryId, versionId, flags] = [reader.hex(16), reader.hex(16), reader.u8()]
  const created = reader.u64()
  if (flags === 0) {
    ensureZero(versionId, created)
    return { memoryId, value: undefined }
  }
  const operation = ['', 'created', 'modified', 'deleted'][flags % 8] ?? ''
  const isLive = flags >= 8
  const isKnown = flags < 16 && operation !== '' && !(isLive && operation === 'deleted')
  ensure(isKnown, 'start_malformed', 'The operation is unknown')
  const live = isLive ? readContent(reader, kids) : undefined
  return { memoryId, value: { versionId, operation, created, live } }
}

function readContent(reader: Reader, kids: readonly string[]): Fields {
  const [updated, size, sha256] = [reader.u64(), reader.u32(), reader.hex(32)]
  const kid = kids[reader.u16()] ?? refuse('start_malformed', 'The epoch is not listed')
  const path = utf8Text(reader.raw(reader.u16()), 'start_malformed')
  return { updated, size, sha256, kid, path: checkPath(path, 'start_malformed') }
}

function readFlag(reader: Reader): boolean {
  const flag = reader.u8()
  ensure(flag <= 1, 'start_malformed', 'A flag is 0 or 1')
  return flag === 1
}

function ensureZero(...values: readonly (string | number | boolean)[]): void {
  const isZero = values.every((value) => /^(0+|false)$/.test(String(value)))
  ensure(isZero, 'start_malformed', 'What is not there has zeros')
}

/** Stops where the bytes do, however many are announced. */
function readList<T>(reader: Reader, read: () => T): readonly T[] {
  const list: T[] = []
  for (let left = reader.u32(); left > 0; left -= 1) list.push(read())
  return list
}

function ascending<T>(list: readonly T[], keyOf: (one: T) => string): readonly T[] {
  const keys = list.map(keyOf)
  const ascends = keys.every((key, index) => index === 0 || (keys[index - 1] ?? '') < key)
  ensure(ascends, 'start_malformed', 'A list does not ascend')
  return list
}

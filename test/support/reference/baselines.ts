// FORMAT §12, §13: what a device keeps at a remote for the holders of its grants. Wraps give them
// the keys of an epoch, baselines the state at a head.

import { concat, equal, fromHex, label, Reader, utf8, utf8Text } from './bytes.ts'
import { baselineContext, checkPadding, openEnvelope, wrapContext } from './envelope.ts'
import type { GrantKeys } from './grant-text.ts'
import { H } from './hash.ts'
import { storeIdOf } from './identity.ts'
import { contentKeys, type Epoch, fullEpoch } from './keys.ts'
import { checkPath } from './path.ts'
import { grantRoleOf, timeMax } from './record.ts'
import { ensure, refuse } from './refusal.ts'
import { verifySignature } from './signature.ts'

const zeroKid = '00'.repeat(16)
const wrapLength = 96 + 512

/** The epoch that the wraps of a granter hold for one grant; else `grant_keys_missing`. */
export function openWraps(
  bytes: Uint8Array,
  storeId: string,
  granterKey: Uint8Array,
  { grantId, wrapKey, wrapSaltKey }: GrantKeys,
): Epoch {
  const reader = new Reader(bytes, 'wraps_malformed')
  ensure(equal(reader.raw(4), utf8('GLKW')), 'wraps_malformed', 'These are no wraps')
  ensure(reader.u8() === 1, 'upgrade_required', 'The wraps have another version')
  ensure(reader.u8() === 0, 'wraps_malformed', 'A reserved byte is set')
  const count = reader.u16()
  const counts = [4, 8, 16, 32, 64, 128, 256, 512, 1024]
  ensure(counts.includes(count), 'wraps_malformed', 'The number of wraps is none of those')
  const [kid, seed] = [reader.hex(16), reader.hex(16)]
  const wraps = Array.from({ length: count }, () => reader.hex(wrapLength))
  const ascends = wraps.every((wrap, index) => index === 0 || (wraps[index - 1] ?? '') < wrap)
  ensure(ascends, 'wraps_malformed', 'The wraps do not ascend')
  const before = bytes.slice(0, reader.offset)
  const signature = reader.raw(64)
  reader.end()
  const said = concat(label('GLK1/wraps/v1'), fromHex(storeId + seed), H(before))
  verifySignature(said, signature, granterKey)
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
  return refuse('grant_keys_missing', 'No wrap is for this grant')
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
export function openBaseline(
  bytes: Uint8Array,
  storeId: string,
  epoch: Epoch,
  seed: string,
  granterKey: Uint8Array,
): Fields {
  const fits = bytes.length <= 64 * 1024 * 1024
  ensure(fits, 'baseline_malformed', 'A baseline has at most 64 MiB')
  const reader = new Reader(bytes, 'baseline_malformed')
  ensure(equal(reader.raw(4), utf8('GLKB')), 'baseline_malformed', 'This is no baseline')
  ensure(reader.u8() === 1, 'upgrade_required', 'The baseline has another version')
  ensure(reader.hex(3) === '000000', 'baseline_malformed', 'A reserved byte is set')
  const kid = reader.hex(16)
  ensure(reader.hex(16) === seed, 'baseline_malformed', 'The baseline has another seed')
  ensure(kid === epoch.kid, 'envelope_epoch', 'The baseline is of another epoch')
  const beginning = bytes.slice(0, reader.offset)
  const signature = reader.raw(64)
  const envelope = reader.rest()
  const hash = H(beginning, envelope)
  const said = concat(label('GLK1/baseline/v1'), fromHex(storeId + seed), hash)
  verifySignature(said, signature, granterKey)
  const keys = contentKeys(epoch, 'baseline')
  const padded = openEnvelope('baseline', keys, baselineContext(seed, beginning), envelope)
  const inner = new Reader(padded, 'baseline_malformed')
  const baseline = readBaseline(inner)
  checkPadding('baseline', padded, inner.offset)
  const [genesis] = baseline.line
  if (genesis === undefined) return refuse('baseline_malformed', 'The line has no genesis')
  const isOwn = storeIdOf(genesis.record) === storeId
  ensure(isOwn, 'store_id_mismatch', 'The line begins with another genesis')
  checkLine(baseline)
  checkFloor(baseline)
  checkKids(baseline)
  return { ...baseline }
}

// The form of a baseline

interface Placed {
  readonly record: string
  readonly commit: string
}

interface Baseline {
  readonly counter: number
  readonly time: number
  readonly genesisTime: number
  readonly kids: readonly string[]
  readonly redacted: readonly string[]
  readonly line: readonly Placed[]
  readonly state: State
  readonly floor: State | undefined
}

/** A floor has what differs from the state. */
interface State {
  readonly record: string
  readonly height: number
  readonly commit: string
  readonly tree: string
  readonly keyring: { readonly record: string; readonly blob: string } | undefined
  readonly settings: Fields | undefined
  readonly devices: readonly (Item & { readonly deviceId: string })[]
  readonly grants: readonly (Item & { readonly granter: string; readonly key: string })[]
  readonly memories: readonly MemoryItem[]
}

/** Without a value it does not exist yet. */
interface Item {
  readonly value: Fields | undefined
}

interface MemoryItem {
  readonly memoryId: string
  readonly value: (Fields & { readonly live: LiveMemory | undefined }) | undefined
}

interface LiveMemory {
  readonly updated: number
  readonly size: number
  readonly sha256: string
  readonly kid: string
  readonly path: string
}

function readBaseline(reader: Reader): Baseline {
  const [counter, time, genesisTime] = [reader.u64(), readTime(reader), readTime(reader)]
  const kids = readIds(reader)
  ensure(kids.length <= 65_535, 'baseline_malformed', 'There are too many epochs')
  const redacted = readIds(reader)
  const line = readList(reader, () => ({ record: reader.hex(32), commit: reader.hex(20) }))
  const state = readState(reader, kids)
  const floor = readFlag(reader) ? readState(reader, kids) : undefined
  return { counter, time, genesisTime, kids, redacted, line, state, floor }
}

function readIds(reader: Reader): readonly string[] {
  return ascending(
    readList(reader, () => reader.hex(16)),
    (id) => id,
  )
}

function readState(reader: Reader, kids: readonly string[]): State {
  const [record, height] = [reader.hex(32), reader.u64()]
  const [commit, tree] = [reader.hex(20), reader.hex(20)]
  const keyring = readFlag(reader)
    ? { record: reader.hex(32), blob: reader.hex(reader.u32()) }
    : undefined
  const settings = readFlag(reader) ? readSettings(reader) : undefined
  const devices = ascending(
    readList(reader, () => readDevice(reader)),
    deviceName,
  )
  const grants = ascending(
    readList(reader, () => readGrant(reader)),
    grantName,
  )
  const memories = ascending(
    readList(reader, () => readMemory(reader, kids)),
    memoryName,
  )
  return { record, height, commit, tree, keyring, settings, devices, grants, memories }
}

const deviceName = (item: { readonly deviceId: string }): string => item.deviceId
const memoryName = (item: { readonly memoryId: string }): string => item.memoryId
const grantName = (item: { readonly granter: string; readonly key: string }): string => {
  return item.granter + item.key
}

function readSettings(reader: Reader): Fields {
  const [record, height, time] = [reader.hex(32), reader.u64(), readTime(reader)]
  return { record, height, time, blob: reader.hex(reader.u32()) }
}

function readDevice(reader: Reader): State['devices'][number] {
  const [deviceId, sequence, record] = [reader.hex(16), reader.u64(), reader.hex(32)]
  const forked = readFlag(reader)
  if (sequence > 0) return { deviceId, value: { sequence, record, forked } }
  ensureZero(record, forked)
  return { deviceId, value: undefined }
}

function readGrant(reader: Reader): State['grants'][number] {
  const [granter, key, number] = [reader.hex(16), reader.hex(32), reader.u8()]
  const [began, notAfter] = [readTime(reader), readTime(reader)]
  if (number === 0) {
    ensureZero(began, notAfter)
    return { granter, key, value: undefined }
  }
  const role = grantRoleOf(number) ?? refuse('baseline_malformed', 'The role of a grant is unknown')
  return { granter, key, value: { role, began, notAfter } }
}

function readMemory(reader: Reader, kids: readonly string[]): MemoryItem {
  const [memoryId, versionId, flags] = [reader.hex(16), reader.hex(16), reader.u8()]
  const created = readTime(reader)
  if (flags === 0) {
    ensureZero(versionId, created)
    return { memoryId, value: undefined }
  }
  const operation = ['', 'created', 'modified', 'deleted'][flags % 8] ?? ''
  const isLive = flags >= 8
  const isKnown = flags < 16 && operation !== '' && !(isLive && operation === 'deleted')
  ensure(isKnown, 'baseline_malformed', 'The operation is unknown')
  const live = isLive ? readLive(reader, kids) : undefined
  return { memoryId, value: { versionId, operation, created, live } }
}

function readLive(reader: Reader, kids: readonly string[]): LiveMemory {
  const [updated, size, sha256] = [readTime(reader), reader.u32(), reader.hex(32)]
  const kid = kids[reader.u16()] ?? refuse('baseline_malformed', 'The epoch is not listed')
  const path = utf8Text(reader.raw(reader.u16()), 'baseline_malformed')
  return { updated, size, sha256, kid, path: checkPath(path, 'baseline_malformed') }
}

function readTime(reader: Reader): number {
  const time = reader.u64()
  ensure(time <= timeMax, 'baseline_malformed', 'A time is beyond the calendar')
  return time
}

function readFlag(reader: Reader): boolean {
  const flag = reader.u8()
  ensure(flag <= 1, 'baseline_malformed', 'A flag is 0 or 1')
  return flag === 1
}

function ensureZero(...values: readonly (string | number | boolean)[]): void {
  const isZero = values.every((value) => /^(0+|false)$/.test(String(value)))
  ensure(isZero, 'baseline_malformed', 'What is not there has zeros')
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
  ensure(ascends, 'baseline_malformed', 'A list does not ascend')
  return list
}

// What its parts say of each other

/** The line ends with the keyring record of the state, and has that of the floor. */
function checkLine({ line, state, floor }: Baseline): void {
  const last = line.at(-1)?.record
  ensure(state.keyring?.record === last, 'baseline_malformed', 'The line ends with another record')
  const ofFloor = floor?.keyring?.record
  const isIn = ofFloor === undefined || line.some(({ record }) => record === ofFloor)
  ensure(isIn, 'baseline_malformed', 'The keyring of the floor is not in the line')
}

/** A state is whole. A floor is lower, and has nothing that is the same as in the state. */
function checkFloor({ state, floor }: Baseline): void {
  const all: readonly Item[] = [...state.devices, ...state.grants, ...state.memories]
  const isThere = all.every(({ value }) => value !== undefined)
  const isWhole = state.keyring !== undefined && state.settings !== undefined && isThere
  ensure(isWhole, 'baseline_malformed', 'A state is whole')
  if (floor === undefined) return
  ensure(floor.height < state.height, 'baseline_malformed', 'The floor is not lower than the state')
  const files = !isRepeated(floor.keyring, state.keyring)
  const differs = files && !isRepeated(floor.settings, state.settings)
  ensure(differs, 'baseline_malformed', 'The floor repeats the keyring or settings of the state')
  // Devices and memories never go, but grants end.
  checkDifferences(floor.devices, state.devices, deviceName, false)
  checkDifferences(floor.grants, state.grants, grantName, true)
  checkDifferences(floor.memories, state.memories, memoryName, false)
}

function checkDifferences<T extends Item>(
  floor: readonly T[],
  state: readonly T[],
  nameOf: (item: T) => string,
  mayGo: boolean,
): void {
  const later = new Map(state.map((item) => [nameOf(item), item]))
  for (const item of floor) {
    const same = later.get(nameOf(item))
    const isNamed = same !== undefined || (mayGo && item.value !== undefined)
    ensure(isNamed, 'baseline_malformed', 'The state does not have what the floor names')
    const repeats = isRepeated(item, same)
    ensure(!repeats, 'baseline_malformed', 'The floor repeats an entry of the state')
  }
}

function isRepeated(ofFloor: unknown, ofState: unknown): boolean {
  return ofFloor !== undefined && JSON.stringify(ofFloor) === JSON.stringify(ofState)
}

function checkKids({ kids, state, floor }: Baseline): void {
  const memories = [...state.memories, ...(floor?.memories ?? [])]
  const used = new Set(memories.map(({ value }) => value?.live?.kid))
  const allUsed = kids.every((kid) => used.has(kid))
  ensure(allUsed, 'baseline_malformed', 'No memory uses an epoch of the list')
}

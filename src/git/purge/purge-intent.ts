// The file that lists what a transition erases, `gitlocket/purge-<16 hex>`: durable before the
// transition is, removed after the store holds none of the dead objects. Owns its bytes, and which
// intents a history contains. An intent is an order to erase, so only one with this device's code
// is obeyed: anyone who can write to the directory can write a file. Must not erase anything.
//
//   "GLP2" ‖ u32 0 ‖ expected oid 20 ‖ next oid 20 ‖ u16 packs ‖ packs × checksum 20 (their names)
//   ‖ u32 dead ‖ dead × oid 20, ascending ‖ authentication code of all before 32
//   ‖ SHA-256 of all before 32
//
// The SHA-256 tells damage from an intent of another device.

import {
  ByteReader,
  ByteWriter,
  concatBytes,
  equalBytes,
  fromHex,
  label,
  toHex,
} from '../../bytes.ts'
import { keyedHash, sha256 } from '../../crypto/digest.ts'
import { StoreError } from '../../errors.ts'
import { findLinks, type GitObject, type Oid } from '../objects/object.ts'
import { oidBytes, OidList } from '../objects/oid-list.ts'
import { packNameOf } from '../pack/pack-file.ts'

export interface PurgeIntent {
  /** The file's name. */
  readonly name: string
  readonly expected: Oid
  readonly next: Oid
  /** Packs that the transition adds; none of them existed before. */
  readonly packs: readonly string[]
  readonly dead: OidList
}

/** An intent, or one that this device has not written, which must not be obeyed. */
export type FoundIntent = PurgeIntent | 'foreign'

export const intentPattern: RegExp = /^purge-[0-9a-f]{16}$/

const magic = Uint8Array.of(0x47, 0x4c, 0x50, 0x32)
const codeLabel = label('gitlocket/purge-intent')
const codeBytes = 32
const checksumBytes = 32
const packPrefix = 'pack-'

/** `secret` is the key of this device. */
export function encodeIntent(intent: Omit<PurgeIntent, 'name'>, secret: Uint8Array): Uint8Array {
  const writer = new ByteWriter().raw(magic).u32(0)
  writer.raw(fromHex(intent.expected)).raw(fromHex(intent.next)).u16(intent.packs.length)
  for (const name of intent.packs) writer.raw(fromHex(name.slice(packPrefix.length)))
  const body = concatBytes(writer.u32(intent.dead.count).bytes(), intent.dead.bytes)
  const coded = concatBytes(body, codeOf(secret, body))
  return concatBytes(coded, sha256(coded))
}

/**
 * The intent in a file if the device with this secret wrote it. Throws `journal_corrupt` for
 * damage.
 */
export function openIntent(
  name: string,
  bytes: Uint8Array,
  secret: Uint8Array | undefined,
): FoundIntent {
  const intent = decodeIntent(name, bytes)
  const body = bytes.subarray(0, -(codeBytes + checksumBytes))
  const code = bytes.subarray(body.length, -checksumBytes)
  const isOwn = secret !== undefined && equalBytes(codeOf(secret, body), code)
  return isOwn ? intent : 'foreign'
}

/** The intent in a file, by any writer: a claim. Throws `journal_corrupt`. */
export function decodeIntent(name: string, bytes: Uint8Array): PurgeIntent {
  const coded = bytes.subarray(0, Math.max(0, bytes.length - checksumBytes))
  if (!equalBytes(sha256(coded), bytes.subarray(coded.length))) throw damaged()
  const body = coded.subarray(0, Math.max(0, coded.length - codeBytes))
  const reader = new ByteReader(body, damaged)
  if (!equalBytes(reader.raw(4), magic) || reader.u32() !== 0) throw damaged()
  const expected = toHex(reader.raw(oidBytes))
  const next = toHex(reader.raw(oidBytes))
  const packs = Array.from({ length: reader.u16() }, () => packNameOf(reader.raw(oidBytes)))
  const dead = new OidList(reader.raw(reader.u32() * oidBytes))
  if (reader.remaining > 0 || !dead.isAscending()) throw damaged()
  return { name, expected, next, packs, dead }
}

/**
 * Determines which intents' transitions are in the past of `head`: those that it descends from, and
 * those that a later one of them erased. If the walk back reaches the state before a transition, or
 * what it erases, the transition is absent. A damaged or foreign history gives no fate.
 */
export function fatesOf(
  head: Oid | undefined,
  intents: readonly PurgeIntent[],
  read: (oid: Oid) => GitObject | undefined,
): ReadonlyMap<PurgeIntent, 'committed' | 'absent'> {
  const fates = new Map<PurgeIntent, 'committed' | 'absent'>()
  for (const intent of intents) {
    if (fates.has(intent)) continue
    const fate = head === undefined ? undefined : fateOf(head, intent, read)
    if (fate === 'committed') setCommitted(fates, intent, intents)
    else if (fate !== undefined) fates.set(intent, fate)
  }
  return fates
}

function fateOf(
  head: Oid,
  intent: PurgeIntent,
  read: (oid: Oid) => GitObject | undefined,
): 'committed' | 'absent' | undefined {
  const seen = new Set([head])
  let isBefore = false
  // Breadth first: the set grows while it is iterated.
  for (const oid of seen) {
    if (oid === intent.next) return 'committed'
    if (oid === intent.expected || intent.dead.hasOid(oid)) isBefore = true
    else for (const parent of parentsOf(read(oid))) seen.add(parent)
  }
  return isBefore ? 'absent' : undefined
}

/** Marks an intent as committed, and with it the intents in the history that it replaced. */
function setCommitted(
  fates: Map<PurgeIntent, 'committed' | 'absent'>,
  intent: PurgeIntent,
  intents: readonly PurgeIntent[],
): void {
  if (fates.has(intent)) return
  fates.set(intent, 'committed')
  for (const earlier of intents) {
    if (intent.dead.hasOid(earlier.next)) setCommitted(fates, earlier, intents)
  }
}

function parentsOf(commit: GitObject | undefined): readonly Oid[] {
  return commit?.type === 'commit' ? (findLinks(commit.body)?.parents ?? []) : []
}

/** The error for a list with objects that are needed. */
export function reachedByHistory(): StoreError {
  return new StoreError(
    'journal_corrupt',
    'A list of redacted objects to erase names objects of the current history: nothing was ' +
      'erased; gitlocket doctor --repair recreates the list',
  )
}

function codeOf(secret: Uint8Array, body: Uint8Array): Uint8Array {
  return keyedHash(codeBytes, secret, codeLabel, body)
}

function damaged(): StoreError {
  return new StoreError(
    'journal_corrupt',
    'A list of redacted objects to erase is damaged: gitlocket doctor --repair recreates it',
  )
}

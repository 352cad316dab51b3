// The entries of the shared log as bytes (FORMAT §14.2, §14.3). Pure. An entry is sealed when it
// leaves this machine: each one that is decoded here was encoded here, by this release or another.
//
//   entry = u8 version 1 ‖ u32 length of the head ‖ head as JSON ‖ rest
//   rest  = the oids that a commit erases, 20 bytes each ‖ frames (journal/journal-frame.ts)
//
// The objects of a large commit are in parts: each is one frame, whose two oids are zeros. A pack
// that a remote has sent is in parts as it is.

import { ByteReader, ByteWriter, utf8, utf8Text } from '../../bytes.ts'
import { StoreError } from '../../errors.ts'
import { decodeFrames, encodeFrames } from '../journal/journal-frame.ts'
import type { Transition } from '../object-store.ts'
import type { NewObject, Oid } from '../objects/object.ts'
import { listOf, oidBytes, OidList, OidSet } from '../objects/oid-list.ts'
import type { PartsRef } from './shared-log.ts'

/** The transitions of one group commit. */
export interface CommitsEntry {
  readonly kind: 'commit'
  readonly transitions: readonly Transition[]
  /** Further objects of the transitions. */
  readonly parts?: PartsRef | undefined
}

/** Packs that a sync has accepted. */
export interface PacksEntry {
  readonly kind: 'packs'
  readonly parts: PartsRef
  /** How many of the parts each pack has, in their order. */
  readonly counts: readonly number[]
}

/** A tracking ref, or evidence (`PackExchange.track`). */
export interface RefEntry {
  readonly kind: 'ref'
  readonly name: string
  /** Null removes it. */
  readonly commit: Oid | null
}

export interface RemoteEntry {
  readonly kind: 'remote'
  readonly name: string
  /** Null removes it. */
  readonly url: string | null
}

export type Entry = CommitsEntry | PacksEntry | RefEntry | RemoteEntry

/** A commit without its transitions: these are not JSON. */
interface CommitHead {
  readonly kind: 'commit'
  readonly parts?: PartsRef | undefined
  /** The number of oids that follow; a commit may erase none, which differs from not erasing. */
  readonly dead?: number | undefined
}

const VERSION = 1
const kinds: readonly string[] = ['commit', 'packs', 'ref', 'remote'] satisfies Entry['kind'][]
const zeroOid = '0'.repeat(40)

export function encodeEntry(entry: Entry): Uint8Array {
  const writer = new ByteWriter().u8(VERSION)
  if (entry.kind !== 'commit') return withHead(writer, entry).bytes()
  const { kind, transitions, parts } = entry
  const dead = transitions[0]?.dead
  const list = dead && listOf(dead)
  withHead(writer, { kind, parts, dead: list?.count })
  if (list !== undefined) writer.raw(list.bytes)
  return writer.raw(encodeFrames(transitions)).bytes()
}

/** Throws `upgrade_required` for an entry of a later release, `journal_corrupt` for none at all. */
export function decodeEntry(bytes: Uint8Array): Entry {
  const reader = new ByteReader(bytes, damagedLog)
  if (reader.u8() !== VERSION) throw laterRelease()
  const head = parseHead(reader.view(reader.u32()))
  if (head.kind !== 'commit') {
    reader.end()
    return head
  }
  const { kind, parts, dead } = head
  const erased =
    dead === undefined ? undefined : new OidList(Buffer.from(reader.raw(dead * oidBytes)))
  const transitions = decodeTransitions(reader.view(reader.remaining))
  if (erased === undefined) return { kind, parts, transitions }
  const [only] = transitions
  if (only === undefined) throw damagedLog('an entry erases without a commit')
  return { kind, parts, transitions: [{ ...only, dead: new OidSet(erased) }] }
}

/** One part of the objects of a large commit. */
export function encodeObjects(objects: readonly NewObject[]): Uint8Array {
  return encodeFrames([{ objects, expected: undefined, next: zeroOid }])
}

export function decodeObjects(part: Uint8Array): readonly NewObject[] {
  return decodeTransitions(part).flatMap(({ objects }) => objects)
}

export function laterRelease(): StoreError {
  return new StoreError(
    'upgrade_required',
    'Another server of this engine writes in the format of a later release: upgrade this one',
  )
}

export function damagedLog(problem: string): StoreError {
  return new StoreError('journal_corrupt', `The log of the store in the engine: ${problem}`)
}

function parseHead(bytes: Uint8Array): CommitHead | Exclude<Entry, CommitsEntry> {
  try {
    // It was sealed by a server of this device: with this version it has the shape that we write.
    const head: CommitHead | Exclude<Entry, CommitsEntry> = JSON.parse(utf8Text(bytes))
    if (kinds.includes(head.kind)) return head
  } catch {
    throw damagedLog('the head of an entry is not JSON')
  }
  throw damagedLog('an entry is of an unknown kind')
}

function decodeTransitions(bytes: Uint8Array): readonly Transition[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- sealed before the append
  return decodeFrames(bytes) as readonly unknown[] as readonly Transition[]
}

function withHead(writer: ByteWriter, head: object): ByteWriter {
  const json = utf8(JSON.stringify(head))
  return writer.u32(json.length).raw(json)
}

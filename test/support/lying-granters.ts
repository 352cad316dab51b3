// A granter that lies with the group key, which every member and holder has: it makes second
// commits of records that others have signed, and describes a state there, which its host shows.

import { utf8 } from '../../src/bytes.ts'
import { sha256 } from '../../src/crypto/digest.ts'
import type { ChangeRecord, RecordBody } from '../../src/format/change-record.ts'
import { type CommitParts, encodeCommit, parseCommit } from '../../src/format/commit.ts'
import { type DetailRow, encodeDetail } from '../../src/format/detail.ts'
import { detailContext, memoryContext, recordContext } from '../../src/format/envelope.ts'
import { encodeMemoryBlob } from '../../src/format/memory-blob.ts'
import { recordHash, zeroHash } from '../../src/format/record.ts'
import type { Start, StartState } from '../../src/format/start.ts'
import { parseGrant } from '../../src/keys/wraps.ts'
import { decodeCommit, type DecodedCommit } from '../../src/store/commits/decoded-commit.ts'
import { signForged } from './forge-commit.ts'
import type { ForgedAuthor } from './forge-fault.ts'
import { seal } from './forge-seal.ts'
import { type GrantWorld, keysFor, mainAt, readStartAt } from './grant-holders.ts'
import { git, gitBytes } from './temporary.ts'

type World = Pick<GrantWorld, 'url' | 'grant'>

function write({ url }: World, type: string, bytes: Uint8Array): string {
  return git(['hash-object', '-w', '--literally', '--stdin', '-t', type], url, bytes).trim()
}

function bytesOf({ url }: World, oid: string): Uint8Array {
  return gitBytes(['cat-file', 'commit', oid], url)
}

export function decodeAt(world: World, oid: string): DecodedCommit {
  const epoch = keysFor(world)
  const { storeId } = parseGrant(world.grant)
  return decodeCommit(storeId, new Map([[epoch.kid, epoch]]), oid, bytesOf(world, oid))
}

/** A second commit of one record. */
export function remake(world: World, oid: string, change: Partial<CommitParts>): string {
  const parts = { ...parseCommit(bytesOf(world, oid)), ...change }
  return write(world, 'commit', encodeCommit(parts, keysFor(world).group))
}

/** A second commit of a record that lacks what its rows have written. */
export function withoutDetail(world: World, oid: string): string {
  const { detail: keys } = keysFor(world)
  const context = detailContext(keysFor(world), decodeAt(world, oid).hash)
  const plaintext = encodeDetail([])
  return remake(world, oid, {
    detail: seal({ type: 'detail', keys, context, hedge: zeroHash, plaintext }),
  })
}

/** Another record in place of one, signed by whom one likes, with the same detail and tree. */
export function replaceRecord(
  world: World,
  oid: string,
  change: (record: ChangeRecord) => ChangeRecord,
  author: ForgedAuthor,
): { readonly commit: string; readonly record: Uint8Array } {
  const epoch = keysFor(world)
  const { record, parts } = decodeAt(world, oid)
  const signed = signForged(epoch, bodyOf(change(record)), author, {})
  const hash = recordHash(epoch, signed)
  const common = { hedge: zeroHash } as const
  const details: readonly DetailRow[] = []
  const detail = { ...common, keys: epoch.detail, context: detailContext(epoch, hash) }
  const sealed = { ...common, keys: epoch.record, context: recordContext(epoch) }
  const commit = remake(world, oid, {
    ...parts,
    record: seal({ type: 'record', ...sealed, plaintext: signed }),
    detail: seal({ type: 'detail', ...detail, plaintext: encodeDetail(details) }),
  })
  return { commit, record: hash }
}

/** Its rows without the ids of their versions, which follow from the record. */
function bodyOf({ rows, ...record }: ChangeRecord): RecordBody {
  const signed = rows.map(({ memoryId, base, secondBase, operation, commitment }) => {
    return { memoryId, base, secondBase, operation, commitment }
  })
  return { ...record, rows: signed }
}

/** A tree with another blob in place of one. */
export function treeWith({ url }: World, tree: string, before: string, after: string): string {
  const listed = git(['ls-tree', '-r', tree], url).replaceAll(before, after)
  git(['read-tree', '--empty'], url)
  git(['update-index', '--add', '--index-info'], url, utf8(listed))
  return git(['write-tree'], url).trim()
}

/** A text under the version, path and time of another one. */
export function otherText(
  world: World,
  path: string,
  content: string,
): { readonly before: string; readonly after: string; readonly change: (of: Start) => Start } {
  const epoch = keysFor(world)
  const { memoryId, value } =
    readStartAt(world).state.memories.find(({ value: one }) => one?.live?.path === path) ?? {}
  if (memoryId === undefined || value?.live === undefined) throw new Error(`no memory at ${path}`)
  const { versionId, created, live } = value
  const text = { path, content, versionId, created, sha256: sha256(utf8(content)) }
  const context = memoryContext(epoch, memoryId)
  const place = { type: 'memory', keys: epoch.memory, context, hedge: zeroHash } as const
  const after = write(world, 'blob', seal({ ...place, plaintext: encodeMemoryBlob(text) }))
  const listed = git(['ls-tree', '-r', mainAt(world)], world.url).split('\n')
  const before = listed.find((line) => line.replaceAll('/', '').endsWith(memoryId)) ?? ''
  const row = { ...value, live: { ...live, size: utf8(content).length, sha256: text.sha256 } }
  return {
    before: before.split(/\s/)[2] ?? '',
    after,
    change: inState(({ memories }) => ({
      memories: memories.map((one) => (one.memoryId === memoryId ? { memoryId, value: row } : one)),
    })),
  }
}

export function inState(change: (state: StartState) => Partial<StartState>): (of: Start) => Start {
  return (start) => ({ ...start, state: { ...start.state, ...change(start.state) } })
}

// FORMAT §8 and §8.1, what the content key opens: details against commitments, memory blobs against
// details, settings, and every tree against tree(X), all as rewrite(·, R) makes them. An auditor's
// epochs have no content key: then blobs are taken from the trees unopened.

import { fromHex, toHex, utf8 } from './bytes.ts'
import { decodeDetail, detailCommitment, type DetailRow } from './detail.ts'
import {
  detailContext,
  memoryContext,
  openDeterministic,
  openEnvelope,
  readKid,
  settingsContext,
  zeroHedge,
} from './envelope.ts'
import { H } from './hash.ts'
import { contentKeys } from './keys.ts'
import { decodeMemoryBlob, type MemoryBlob } from './memory.ts'
import { checkDisjoint } from './path.ts'
import { readmeFile, storeFile } from './public-files.ts'
import { hasVersions, zeroHash } from './record.ts'
import { ensure, refuse } from './refusal.ts'
import type { Repository } from './repository.ts'
import type { NamedRow } from './rows.ts'
import { decodeSettings, type Settings } from './settings.ts'
import { readRootBlob, type Trail, type TrailCommit } from './trail.ts'
import { buildTree, decodeTree, findMemory, gitOid } from './tree.ts'

export interface Contents {
  /** Commit oid to the rows of its detail, by row index. */
  readonly details: ReadonlyMap<string, ReadonlyMap<number, DetailRow>>
  /** Live memories at the head, by id; empty for an auditor. */
  readonly memories: ReadonlyMap<string, MemoryBlob>
  /** undefined for an auditor. */
  readonly settings: Settings | undefined
}

interface Walk {
  readonly repository: Repository
  readonly storeId: string
  readonly trail: Trail
  readonly details: Map<string, ReadonlyMap<number, DetailRow>>
  /** Version id to the oid of its blob, and to what that holds. */
  readonly oids: Map<string, string>
  readonly blobs: Map<string, MemoryBlob>
  /** Version id to path, as far as details tell. */
  readonly paths: Map<string, string>
  /** Commit oid to the oids of the files that it brings. */
  readonly keyrings: Map<string, string>
  readonly settingsOids: Map<string, string>
  readonly settings: Map<string, Settings>
}

export function verifyContents(repository: Repository, storeId: string, trail: Trail): Contents {
  const maps = { details: new Map(), oids: new Map(), blobs: new Map(), paths: new Map() }
  const files = { keyrings: new Map(), settingsOids: new Map(), settings: new Map() }
  const walk: Walk = { repository, storeId, trail, ...maps, ...files }
  for (const at of trail.commits) {
    takeFiles(walk, at)
    if (hasVersions(at.record)) takeChange(walk, at)
    checkPaths(walk, at)
    checkTree(walk, at)
  }
  const past = trail.commits.at(-1)?.past
  const memories = [...(past?.current ?? [])].flatMap(([memoryId, versionId]) => {
    const blob = walk.blobs.get(versionId)
    return blob === undefined ? [] : [[memoryId, blob] as const]
  })
  const settings = walk.settings.get(past?.settings?.commit ?? '')
  return { details: walk.details, memories: new Map(memories), settings }
}

/**
 * Keyring and settings of the commits that change them. The keyring was verified with the trail.
 */
function takeFiles(walk: Walk, { oid, commit, record, epoch }: TrailCommit): void {
  if (record.keyringHash !== zeroHash) {
    walk.keyrings.set(oid, gitOid('blob', readRootBlob(walk.repository, commit.tree, 'keyring')))
  }
  if (record.settingsHash === zeroHash) return
  const bytes = readRootBlob(walk.repository, commit.tree, 'settings')
  const named = toHex(H(bytes)) === record.settingsHash
  ensure(named, 'settings_mismatch', 'The record names other settings')
  walk.settingsOids.set(oid, gitOid('blob', bytes))
  const current = readKid('settings', bytes) === epoch.kid
  ensure(current, 'envelope_epoch', 'The settings have another kid than their record')
  if (epoch.content === undefined) return
  const keys = contentKeys(epoch, 'settings')
  const padded = openEnvelope('settings', keys, settingsContext(walk.trail.seed), bytes)
  walk.settings.set(oid, decodeSettings(padded))
}

function takeChange(walk: Walk, at: TrailCommit): void {
  const details = at.epoch.content === undefined ? undefined : openDetail(walk, at)
  walk.details.set(at.oid, details ?? new Map())
  for (const [index, row] of at.rows.entries()) {
    const redacted = walk.trail.redacted.has(row.versionId)
    if (details !== undefined) {
      const detail = details.get(index)
      ensure(detail !== undefined || redacted, 'detail_missing', 'The detail of a row is missing')
      ensure(detail === undefined || !redacted, 'redaction_undone', 'A redacted detail is back')
      if (detail !== undefined) checkDetail(walk, row, detail)
    }
    takeMemory(walk, at, row, details?.get(index))
  }
}

function openDetail(
  { trail }: Walk,
  { commit, record, recordHash, epoch }: TrailCommit,
): Map<number, DetailRow> {
  const envelope = commit.detail ?? refuse('commit_malformed', 'A change has no detail')
  const [keys, context] = [contentKeys(epoch, 'detail'), detailContext(trail.seed, recordHash)]
  const rows = decodeDetail(openDeterministic('detail', keys, context, zeroHedge, envelope))
  const inside = rows.every(({ row }) => row < record.rows.length)
  ensure(inside, 'detail_malformed', 'A detail is for a row that the record has not')
  return new Map(rows.map((row) => [row.row, row]))
}

/** The commitment, and the rule of §6.2 for deletions. */
function checkDetail(walk: Walk, row: NamedRow, detail: DetailRow): void {
  const bound = detailCommitment(detail.blinding, detail) === row.commitment
  ensure(bound, 'detail_mismatch', 'The detail is not the one that the record commits to')
  walk.paths.set(row.versionId, detail.path)
  if (row.operation !== 'deleted') return
  const empty = detail.size === 0 && detail.sha256 === zeroHash
  ensure(empty, 'detail_mismatch', 'A deletion has size and SHA-256 zero')
  const live = [row.base, row.secondBase].filter((base) => isLive(walk, base))
  const paths = live.flatMap((base) => walk.paths.get(base) ?? [])
  // A redacted version has no path any more, and then nothing is known of the deletion's.
  const stays = paths.length < live.length || live.length === 0 || paths.includes(detail.path)
  ensure(stays, 'detail_mismatch', 'A deletion keeps the path')
}

/** Whether a version belongs to a live memory, and names it. */
function isLive({ trail }: Walk, versionId: string): boolean {
  return trail.memories.versions.get(versionId)?.deleted === false
}

/** No memory lies at or above another, as far as redaction has left their paths known (§5.2). */
function checkPaths(walk: Walk, { past }: TrailCommit): void {
  const live = [...past.current.values()].filter((versionId) => isLive(walk, versionId))
  checkDisjoint(live.flatMap((versionId) => walk.paths.get(versionId) ?? []))
}

/** The blob of a row's memory after the row; none after a deletion or a redacted version. */
function takeMemory(
  walk: Walk,
  at: TrailCommit,
  row: NamedRow,
  detail: DetailRow | undefined,
): void {
  const found = findInTree(walk, at, row.memoryId)
  if (walk.trail.redacted.has(row.versionId)) {
    ensure(found === undefined, 'redaction_undone', 'A redacted memory is back')
    return
  }
  if (row.operation === 'deleted') return
  const oid = found ?? refuse('tree_mismatch', 'The blob of a memory is missing')
  walk.oids.set(row.versionId, oid)
  if (detail === undefined) return
  walk.blobs.set(row.versionId, openMemory(walk, at, row, { oid, detail }))
}

function openMemory(
  { repository, trail }: Walk,
  { epoch }: TrailCommit,
  row: NamedRow,
  { oid, detail }: { oid: string; detail: DetailRow },
): MemoryBlob {
  const envelope = repository.read('blob', oid)
  const [keys, context] = [contentKeys(epoch, 'memory'), memoryContext(trail.seed, row.memoryId)]
  const hedge = fromHex(detail.blinding)
  const blob = decodeMemoryBlob(openDeterministic('memory', keys, context, hedge, envelope))
  const same =
    blob.path === detail.path &&
    utf8(blob.content).length === detail.size &&
    blob.sha256 === detail.sha256 &&
    blob.versionId === row.versionId &&
    blob.created === trail.memories.created.get(row.memoryId)
  ensure(same, 'memory_mismatch', 'The memory is not the one that the detail describes')
  return blob
}

function findInTree(
  { repository }: Walk,
  { commit }: TrailCommit,
  memoryId: string,
): string | undefined {
  return findMemory((oid) => repository.read('tree', oid), commit.tree, memoryId)
}

/** tree = tree(X). The rest only finds the most telling refusal. */
function checkTree(walk: Walk, at: TrailCommit): void {
  const readme = gitOid('blob', readmeFile)
  const store = gitOid('blob', storeFile(walk.storeId))
  const { past } = at
  const memories = new Map<string, string>()
  for (const [memoryId, versionId] of past.current) {
    const oid = walk.oids.get(versionId)
    if (oid !== undefined) memories.set(memoryId, oid)
  }
  const keyring = walk.keyrings.get(past.keyring?.commit ?? '') ?? ''
  const settings = walk.settingsOids.get(past.settings?.commit ?? '') ?? ''
  const expected = buildTree({ readme, storeFile: store, keyring, settings, memories })
  if (expected.root === at.commit.tree) return
  const entries = decodeTree(walk.repository.read('tree', at.commit.tree))
  const has = (name: string, oid: string) => entries.some((e) => e.name === name && e.oid === oid)
  const intact = has('README.md', readme) && has('store.json', store)
  ensure(intact, 'public_file_mismatch', 'A public file has other bytes')
  for (const [versionId, { memoryId }] of walk.trail.memories.versions) {
    const gone = walk.trail.redacted.has(versionId) && !memories.has(memoryId)
    const back = gone && findInTree(walk, at, memoryId) !== undefined
    ensure(!back, 'redaction_undone', 'A redacted memory is back')
  }
  refuse('tree_mismatch', 'The tree is not the one that the records describe')
}

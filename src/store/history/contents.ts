// Reads decrypted contents: of a live memory from the blob that the snapshot names, of an old
// version from its commit's tree.

import { toHex, utf8, utf8Text } from '../../bytes.ts'
import { StoreError } from '../../errors.ts'
import { treeOf } from '../../format/commit.ts'
import { memoryContext, openEnvelope, readKid } from '../../format/envelope.ts'
import { decodeMemoryBlob, type MemoryBlob } from '../../format/memory-blob.ts'
import type { Oid } from '../../git/objects/object.ts'
import { type Epochs, readCommitBytes } from '../commits/decoded-commit.ts'
import { getBlob, getTree, type ObjectSource } from '../snapshot/git-reads.ts'
import type { LiveMemory } from '../snapshot/live-memory.ts'
import { findBlob } from '../snapshot/memory-tree.ts'
import type { ContentCache } from './content-cache.ts'
import type { CommitEntry, VersionEntry } from './history-rows.ts'

export interface ContentSource {
  readonly objects: ObjectSource
  readonly storeId: string
  readonly epochs: Epochs
  readonly cache: ContentCache
}

/** The fields needed to read the content of a version. */
type KnownVersion = Pick<VersionEntry, 'versionId' | 'memoryId' | 'path' | 'sha256'> & {
  readonly commit: Pick<CommitEntry, 'oid'>
}

/** The content of a live memory. */
export function readMemory(source: ContentSource, memory: LiveMemory): string {
  const known = source.cache.find(memory.versionId)
  if (known !== undefined) return known
  const { content } = openMemory(source, memory.blob, memory)
  source.cache.add(memory.versionId, content)
  return content
}

/** Keeps the content of a version that was just written, in place of the one before it. */
export function keepWritten(
  { cache }: Pick<ContentSource, 'cache'>,
  before: string,
  { versionId, content }: { readonly versionId: string; readonly content: string },
): void {
  cache.remove(before)
  // A copy: the caller's may be a part of a text that is much larger.
  cache.add(versionId, utf8Text(utf8(content)))
}

/** The same for a reader of all memories, who would only push others out of the cache. */
export function readOnce(source: ContentSource, memory: LiveMemory): string {
  return source.cache.find(memory.versionId) ?? openMemory(source, memory.blob, memory).content
}

/**
 * The content of a version; undefined for a deletion and once redacted. `known` is the version's
 * blob, if the caller has its id.
 */
export function readVersionContent(
  source: ContentSource,
  entry: KnownVersion,
  known?: Oid,
): string | undefined {
  const { sha256, path, versionId, memoryId } = entry
  if (sha256 === undefined || path === undefined) return undefined
  const blob = known ?? findBlobAt(source, entry.commit.oid, memoryId)
  if (blob === undefined) throw new StoreError('tree_mismatch', 'The tree lacks a memory')
  return openMemory(source, blob, { versionId, memoryId, sha256, path }).content
}

/** The tree `m` of a verified commit; undefined if it has no memories. */
export function findMemoriesTree(objects: ObjectSource, commit: Oid): Oid | undefined {
  const root = getTree(objects, treeOf(readCommitBytes(objects, commit)))
  return root.find((entry) => entry.name === 'm')?.oid
}

/** The blob of a memory in the tree of a verified commit. */
export function findBlobAt(
  { objects, cache }: Pick<ContentSource, 'objects' | 'cache'>,
  commit: Oid,
  memoryId: string,
): Oid | undefined {
  // The commit of a change of ten thousand memories has megabytes: it is read once, not for each.
  const tree = cache.memoriesOf(commit, (oid) => findMemoriesTree(objects, oid))
  return tree === undefined ? undefined : findBlob(objects, tree, memoryId)
}

/** Compares the memory with its verified hash: the blob's SHA-1 proves nothing. */
function openMemory(
  source: ContentSource,
  blob: Oid,
  expected: Pick<LiveMemory, 'memoryId' | 'versionId' | 'sha256' | 'path'>,
): MemoryBlob {
  const bytes = getBlob(source.objects, blob, 'memory_mismatch')
  const epoch = source.epochs.get(readKid('memory', bytes))
  if (epoch === undefined) {
    throw new StoreError('envelope_epoch', 'A memory is sealed under an unknown epoch')
  }
  const context = memoryContext(epoch, expected.memoryId)
  const memory = decodeMemoryBlob(openEnvelope('memory', epoch.memory, context, bytes))
  const matches =
    memory.versionId === expected.versionId &&
    memory.path === expected.path &&
    toHex(memory.sha256) === expected.sha256
  if (matches) return memory
  throw new StoreError('memory_mismatch', 'A memory blob belongs to another version')
}

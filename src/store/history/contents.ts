// Reads decrypted contents: of a live memory from the blob that the snapshot names, of an old
// version from its commit's tree. Caches a bounded number of them in RAM, by version: an agent
// reads and edits the same few memories repeatedly.

import { toHex, utf8, utf8Text } from '../../bytes.ts'
import { type CacheBudget, cachesOfProcess, type CacheShare } from '../../cache-budget.ts'
import { StoreError } from '../../errors.ts'
import { treeOf } from '../../format/commit.ts'
import { memoryContext, openEnvelope, readKid } from '../../format/envelope.ts'
import { decodeMemoryBlob, type MemoryBlob } from '../../format/memory-blob.ts'
import type { Oid } from '../../git/objects/object.ts'
import { MEBIBYTE } from '../../limits.ts'
import { type Epochs, readCommitBytes } from '../commits/decoded-commit.ts'
import { getBlob, getTree, type ObjectSource } from '../snapshot/git-reads.ts'
import type { LiveMemory } from '../snapshot/live-memory.ts'
import { findBlob } from '../snapshot/memory-tree.ts'
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

/** A unit of UTF-16 takes two bytes, or one if the whole text is Latin. */
const BYTES_MAX = 8 * MEBIBYTE
/** A larger text would evict too many others. */
const CONTENT_BYTES_MAX = BYTES_MAX / 4
/** What an entry takes next to its text. */
const ENTRY_BYTES = 200
const COMMITS_MAX = 16

export class ContentCache {
  readonly #share: CacheShare
  /** Oldest first: a Map keeps the order of insertion. */
  readonly #contents: Map<string, string> = new Map()
  /** Commit to tree, oldest first: a search reads many versions of one commit in a row. */
  readonly #memories: Map<Oid, Oid | undefined> = new Map()

  constructor(budget: CacheBudget = cachesOfProcess) {
    this.#share = budget.share((bytes) => this.#shed(bytes))
  }

  find(versionId: string): string | undefined {
    const content = this.#contents.get(versionId)
    if (content === undefined) return undefined
    this.#share.touch()
    this.#contents.delete(versionId)
    this.#contents.set(versionId, content)
    return content
  }

  add(versionId: string, content: string): void {
    const bytes = bytesOf(content)
    if (bytes > CONTENT_BYTES_MAX || this.#contents.has(versionId)) return
    this.#shed(this.#share.bytes + bytes - BYTES_MAX)
    while (!this.#share.grow(bytes)) {
      if (this.#contents.size === 0) return
      this.#shed(bytes)
    }
    this.#contents.set(versionId, content)
  }

  remove(versionId: string): void {
    const content = this.#contents.get(versionId)
    if (content === undefined) return
    this.#contents.delete(versionId)
    this.#share.shrink(bytesOf(content))
  }

  /** The tree `m` of a commit, read by `find` unless it is cached. */
  memoriesOf(commit: Oid, find: (commit: Oid) => Oid | undefined): Oid | undefined {
    const memories = this.#memories
    const tree = memories.has(commit) ? memories.get(commit) : find(commit)
    memories.delete(commit)
    memories.set(commit, tree)
    const [oldest] = memories.keys()
    if (memories.size > COMMITS_MAX && oldest !== undefined) memories.delete(oldest)
    return tree
  }

  clear(): void {
    this.#contents.clear()
    this.#memories.clear()
    this.#share.shrink(this.#share.bytes)
  }

  #shed(bytes: number): void {
    let kept = bytes
    for (const [oldest, content] of this.#contents) {
      if (kept <= 0) return
      this.#contents.delete(oldest)
      this.#share.shrink(bytesOf(content))
      kept -= bytesOf(content)
    }
  }
}

function bytesOf(content: string): number {
  return ENTRY_BYTES + 2 * content.length
}

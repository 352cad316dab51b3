// What the product and the reference decoder say about a history in memory: `accepted`, or the code
// of the refusal. Anything else that they throw is a bug and passes through.

import { StoreError } from '../../src/errors.ts'
import { parseCommit as parseCommitOfProduct } from '../../src/format/commit.ts'
import { parseStoreFile as storeIdOf } from '../../src/format/public-files.ts'
import type { ObjectStore } from '../../src/git/object-store.ts'
import type { GitObject, Oid } from '../../src/git/objects/object.ts'
import type { EpochKeys } from '../../src/keys/epoch.ts'
import type { Unlock } from '../../src/keys/unlock.ts'
import { openHeadKeyring } from '../../src/store/access/authority.ts'
import { ContentCache, readMemory } from '../../src/store/history/contents.ts'
import { getBlob, getEntry, getTree } from '../../src/store/snapshot/git-reads.ts'
import { memoriesBelow } from '../../src/store/snapshot/path-tree.ts'
import { verifyHistory } from '../../src/store/verify/verify.ts'
import { parseCommit } from './reference/commit.ts'
import { verifyContents } from './reference/contents.ts'
import { decodeKeyring } from './reference/keyring.ts'
import { type Epoch, fullEpoch } from './reference/keys.ts'
import type { MemoryBlob } from './reference/memory.ts'
import { parseStoreFile } from './reference/public-files.ts'
import { refuse } from './reference/refusal.ts'
import type { Repository } from './reference/repository.ts'
import { readRootBlob, verifyTrail } from './reference/trail.ts'
import { type Secret, unlock } from './reference/unlock.ts'

export interface Evidence {
  readonly objects: ReadonlyMap<Oid, GitObject>
  readonly storeId: string
  readonly epochs: ReadonlyMap<string, EpochKeys>
  readonly head: Oid
}

export type Verdict = string

/** Verifies from genesis. */
export async function productVerdict(evidence: Evidence): Promise<Verdict> {
  const objects = readOnlyObjects(evidence.objects, evidence.head)
  return verdictOf(() => verifyHistory({ ...evidence, objects }, evidence.head))
}

export async function referenceVerdict(evidence: Evidence): Promise<Verdict> {
  const { storeId } = evidence
  const keys = [...evidence.epochs.values()]
  const epochs = keys.map(({ seed, auditKey, contentKey }): Epoch => {
    return fullEpoch(seed, auditKey, contentKey)
  })
  const place = { storeId, seed: keys[0]?.seed ?? '' }
  return verdictOf(() => verifyByReference(repositoryOf(evidence), place, epochs))
}

/** Opens with a secret and verifies: nothing else is given. Returns the live memories, by path. */
export async function readByProduct(
  objects: ReadonlyMap<Oid, GitObject>,
  head: Oid,
  unlockWith: Unlock,
): Promise<readonly string[]> {
  const store = readOnlyObjects(objects, head)
  const { tree } = parseCommitOfProduct(store.read(head)?.body ?? new Uint8Array())
  const file = getBlob(store, getEntry(getTree(store, tree), 'store.json'), 'not_a_store')
  const storeId = storeIdOf(file)
  const { epochs } = await openHeadKeyring(store, storeId, unlockWith, head)
  const source = { objects: store, storeId, epochs, cache: new ContentCache() }
  const { snapshot } = await verifyHistory(source, head)
  return [...memoriesBelow(snapshot.paths.root)]
    .map((live) => `${live.memoryId} ${live.versionId} ${live.path} ${readMemory(source, live)}`)
    .toSorted()
}

/** The same, by the reference decoder. */
export function readByReference(
  objects: ReadonlyMap<Oid, GitObject>,
  head: Oid,
  secret: Secret,
): readonly string[] {
  const repository = repositoryOf({ objects, head })
  const { tree } = parseCommit(repository.read('commit', head))
  const storeId = parseStoreFile(readRootBlob(repository, tree, 'store.json'))
  const keyring = decodeKeyring(readRootBlob(repository, tree, 'keyring'))
  const place = { storeId, seed: keyring.seed }
  const memories = verifyByReference(repository, place, unlock(keyring, storeId, secret))
  return [...memories]
    .map(([id, { versionId, path, content }]) => `${id} ${versionId} ${path} ${content}`)
    .toSorted()
}

/** `accepted`, or the code or kind that `judge` throws. */
export async function verdictOf(judge: () => unknown): Promise<Verdict> {
  try {
    await judge()
    return 'accepted'
  } catch (error) {
    if (error instanceof StoreError) return error.code
    const kind =
      error instanceof Error ? /^([a-z]+(?:_[a-z]+)+): /.exec(error.message)?.[1] : undefined
    if (kind === undefined) throw error
    return kind
  }
}

export function readOnlyObjects(objects: ReadonlyMap<Oid, GitObject>, head: Oid): ObjectStore {
  return {
    read: (oid) => objects.get(oid),
    head,
    erasures: 0,
    refresh: () => undefined,
    exclusive: readOnly,
    commit: readOnly,
    stage: readOnly,
    compact: readOnly,
    checkpoint: readOnly,
    objectIds: () => objects.keys(),
    status: readOnly,
    reclaimable: readOnly,
    findUnreachable: readOnly,
    close: readOnly,
    get exchange(): never {
      return readOnly()
    },
  }
}

function readOnly(): never {
  throw new Error('These objects are read only')
}

function repositoryOf({ objects, head }: Pick<Evidence, 'objects' | 'head'>): Repository {
  return {
    head,
    read(type, oid) {
      const object = objects.get(oid)
      if (object?.type !== type) return refuse('object_missing', 'An object is missing')
      return object.body
    },
  }
}

function verifyByReference(
  repository: Repository,
  { storeId, seed }: { readonly storeId: string; readonly seed: string },
  epochs: readonly Epoch[],
): ReadonlyMap<string, MemoryBlob> {
  const byKid = new Map(epochs.map((epoch) => [epoch.kid, epoch]))
  const trail = verifyTrail(repository, { storeId, seed, epochs: byKid })
  const { memories } = verifyContents(repository, storeId, trail)
  return memories
}

// Which store a repository holds, before anything of it is verified.

import { StoreError } from '../../errors.ts'
import { parseId } from '../../format/id.ts'
import { parseStoreFile } from '../../format/public-files.ts'
import type { ObjectStore } from '../../git/object-store.ts'
import type { Oid } from '../../git/objects/object.ts'
import type { AuditKeys, EpochKeys } from '../../keys/epoch.ts'
import { Bytes } from '../../platform/bytes.ts'
import { type CommitSource, type Epochs, readCommitBytes } from '../commits/decoded-commit.ts'
import { getBlob, getTree, type ObjectSource } from '../snapshot/git-reads.ts'

export function getHead(objects: ObjectStore): Oid {
  if (objects.head !== undefined) return objects.head
  for (const _ of objects.objectIds()) {
    throw new StoreError(
      'ref_corrupt',
      'refs/heads/main is missing, but the repository has objects',
    )
  }
  throw new StoreError('not_a_store', 'The repository has no commit: it is not a gitlocket store')
}

/** Reads the id from the public file in the head's tree, which is verified with genesis. */
export function readStoreId(objects: ObjectStore): string {
  return storeIdAt(objects, getHead(objects))
}

/** The same in the tree of a commit that was fetched. */
export function storeIdAt(objects: ObjectSource, commit: Oid): string {
  const text = Bytes.from(readCommitBytes(objects, commit).subarray(0, 46))
  const tree = /^tree ([0-9a-f]{40})\n/.exec(text.toString('latin1'))?.[1]
  if (tree === undefined) throw new StoreError('not_a_store', 'The head is not a gitlocket commit')
  const entry = getTree(objects, tree).find((candidate) => candidate.name === 'store.json')
  if (entry === undefined) {
    throw new StoreError('not_a_store', 'The repository is not a gitlocket store')
  }
  return parseStoreFile(getBlob(objects, entry.oid, 'not_a_store'))
}

export function checkExpected(found: string, expected: string | undefined): void {
  if (expected === undefined || parseId('store', expected) === found) return
  throw new StoreError('store_id_mismatch', 'The store is not the expected one')
}

/** The parts of a store's repository that are read before a session holds it. */
export interface StoreSource<Keys extends AuditKeys = EpochKeys> extends CommitSource {
  readonly objects: ObjectStore
  readonly epochs: Epochs<Keys>
}

// Encodes the root tree of a commit (FORMAT §2): public files, keyring, settings, memories.

import { readmeFile, storeFile } from '../../format/public-files.ts'
import {
  encodeTree,
  type NewObject,
  newObject,
  type Oid,
  type TreeEntry,
} from '../../git/objects/object.ts'
import type { Snapshot } from './snapshot.ts'

/** Adds the changed trees to `into`, yielding after each, and returns the root tree's oid. */
export function* encodeRoot(
  storeId: string,
  snapshot: Snapshot,
  into: NewObject[],
): Generator<undefined, Oid> {
  const memories = yield* snapshot.current.tree.encode(into)
  const { keyring, settings } = snapshot
  const entries = rootEntries(storeId, { keyring: keyring.oid, settings: settings.oid, memories })
  const root = newObject('tree', encodeTree(entries))
  into.push(root)
  return root.oid
}

/** The entries of the root tree (FORMAT §2), in git's order. */
function rootEntries(storeId: string, parts: RootParts): readonly TreeEntry[] {
  const entries: TreeEntry[] = [
    { mode: '100644', name: 'README.md', oid: readmeOid },
    { mode: '100644', name: 'keyring', oid: parts.keyring },
  ]
  if (parts.memories !== undefined) entries.push({ mode: '40000', name: 'm', oid: parts.memories })
  entries.push({ mode: '100644', name: 'settings', oid: parts.settings })
  entries.push({ mode: '100644', name: 'store.json', oid: storeFileOid(storeId) })
  return entries
}

interface RootParts {
  readonly keyring: Oid
  readonly settings: Oid
  readonly memories: Oid | undefined
}

const readmeOid = newObject('blob', readmeFile).oid
const storeFileOids = new Map<string, Oid>()

function storeFileOid(storeId: string): Oid {
  let oid = storeFileOids.get(storeId)
  if (oid === undefined) {
    oid = newObject('blob', storeFile(storeId)).oid
    storeFileOids.set(storeId, oid)
  }
  return oid
}

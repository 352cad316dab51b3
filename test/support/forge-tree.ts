// The tree of a forged commit: the constant files, keyring, settings, and memories.

import { gitHash } from '../../src/crypto/sha1.ts'
import { readmeFile, storeFile } from '../../src/format/public-files.ts'
import type { Oid } from '../../src/git/objects/object.ts'
import type { Fault } from './forge-fault.ts'
import { encodeRawTree, type RawEntry } from './forge-seal.ts'
import type { Forge } from './forge.ts'
import { buildRadixTree } from './reference/tree.ts'

/** `shown` is memory id to blob. */
export function forgeTree(
  forge: Pick<Forge, 'put' | 'storeId'>,
  shown: ReadonlyMap<string, Oid>,
  files: { readonly keyring: Oid; readonly settings: Oid },
  fault: Pick<Fault, 'root'> = {},
): Oid {
  const radix = buildRadixTree(shown)
  for (const body of radix?.trees.values() ?? []) forge.put('tree', body)
  const entries = [
    file('README.md', gitHash('blob', readmeFile)),
    file('keyring', files.keyring),
    ...(radix === undefined ? [] : [{ mode: '40000', name: 'm', oid: radix.root }]),
    file('settings', files.settings),
    file('store.json', gitHash('blob', storeFile(forge.storeId))),
  ]
  return forge.put('tree', encodeRawTree(fault.root?.(entries) ?? entries))
}

function file(name: string, oid: Oid): RawEntry {
  return { mode: '100644', name, oid }
}

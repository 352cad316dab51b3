// FORMAT §2 and §2.1: git object ids and trees, and the radix tree of the memories' names. The tree
// of a state is built from scratch, from the set of ids alone.

import { sha1 } from '@noble/hashes/legacy.js'
import { ascii, concat, fromHex, Reader, toHex, utf8 } from './bytes.ts'
import { ensure, refuse } from './refusal.ts'

export type ObjectType = 'commit' | 'tree' | 'blob'

/** The git object id, 40 hex digits. */
export function gitOid(type: ObjectType, body: Uint8Array): string {
  return toHex(sha1(concat(utf8(`${type} ${body.length}\0`), body)))
}

export interface TreeEntry {
  readonly mode: '100644' | '40000'
  readonly name: string
  readonly oid: string
}

/** Git's order: by name, a directory's as if it ended in a slash. */
function sortKey(entry: TreeEntry): string {
  return entry.mode === '40000' ? `${entry.name}/` : entry.name
}

function encodeTree(entries: readonly TreeEntry[]): Uint8Array {
  const sorted = entries.toSorted((a, b) => (sortKey(a) < sortKey(b) ? -1 : 1))
  const encoded = sorted.map((e) => concat(utf8(`${e.mode} ${e.name}\0`), fromHex(e.oid)))
  return concat(...encoded)
}

/** Entries of a tree object that has the modes 100644 and 40000 only; else `tree_mismatch`. */
export function decodeTree(body: Uint8Array): TreeEntry[] {
  const entries: TreeEntry[] = []
  const reader = new Reader(body, 'tree_mismatch')
  while (reader.offset < body.length) {
    const end = body.indexOf(0, reader.offset)
    ensure(end >= 0, 'tree_mismatch', 'A tree entry has no end')
    const [mode, ...names] = ascii(reader.raw(end - reader.offset)).split(' ')
    if (mode !== '100644' && mode !== '40000') {
      refuse('tree_mismatch', 'A tree entry has another mode than 100644 and 40000')
    }
    reader.raw(1)
    entries.push({ mode, name: names.join(' '), oid: reader.hex(20) })
  }
  return entries
}

/** All trees of one commit: oid to entries and bytes. `root` is the oid of the topmost one. */
export interface BuiltTree {
  readonly root: string
  readonly trees: ReadonlyMap<string, Uint8Array>
}

function addTree(trees: Map<string, Uint8Array>, entries: readonly TreeEntry[]): string {
  const body = encodeTree(entries)
  const oid = gitOid('tree', body)
  trees.set(oid, body)
  return oid
}

function radixTree(
  trees: Map<string, Uint8Array>,
  memories: readonly (readonly [name: string, oid: string])[],
): string {
  if (memories.length <= 16) {
    return addTree(
      trees,
      memories.map(([name, oid]) => ({ mode: '100644', name, oid })),
    )
  }
  const entries: TreeEntry[] = []
  for (const digit of '0123456789abcdef') {
    const below = memories.filter(([name]) => name.startsWith(digit))
    if (below.length === 0) continue
    const rest = below.map(([name, oid]) => [name.slice(1), oid] as const)
    entries.push({ mode: '40000', name: digit, oid: radixTree(trees, rest) })
  }
  return addTree(trees, entries)
}

/** The tree `m/` of these memories (id to blob oid); undefined without memories. */
export function buildRadixTree(memories: ReadonlyMap<string, string>): BuiltTree | undefined {
  if (memories.size === 0) return undefined
  const trees = new Map<string, Uint8Array>()
  const root = radixTree(trees, [...memories])
  return { root, trees }
}

export interface TreeParts {
  readonly readme: string
  readonly storeFile: string
  readonly keyring: string
  readonly settings: string
  readonly memories: ReadonlyMap<string, string>
}

/** tree(X) of §6.4; every part is a blob's oid. */
export function buildTree(parts: TreeParts): BuiltTree {
  const entries: TreeEntry[] = [
    { mode: '100644', name: 'README.md', oid: parts.readme },
    { mode: '100644', name: 'keyring', oid: parts.keyring },
    { mode: '100644', name: 'settings', oid: parts.settings },
    { mode: '100644', name: 'store.json', oid: parts.storeFile },
  ]
  const radix = buildRadixTree(parts.memories)
  if (radix !== undefined) entries.push({ mode: '40000', name: 'm', oid: radix.root })
  const trees = new Map(radix?.trees)
  const root = addTree(trees, entries)
  return { root, trees }
}

/**
 * The blob of a memory in the tree `root`, wherever the shape puts it; undefined if it is absent.
 */
export function findMemory(
  readTree: (oid: string) => Uint8Array,
  root: string,
  memoryId: string,
): string | undefined {
  let directory = decodeTree(readTree(root)).find((e) => e.name === 'm' && e.mode === '40000')
  let rest = memoryId
  while (directory !== undefined) {
    const entries = decodeTree(readTree(directory.oid))
    const leaf = entries.find((e) => e.name === rest && e.mode === '100644')
    if (leaf !== undefined) return leaf.oid
    const digit = rest.charAt(0)
    directory = entries.find((e) => e.name === digit && e.mode === '40000')
    rest = rest.slice(1)
  }
  return undefined
}

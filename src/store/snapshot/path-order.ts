// A directory tree in the order of the bytes of paths, from any path on: what a listing in pages
// goes by. A directory sorts as its path with a `/` behind it, which is where all below it sorts.

import { compareBytes, utf8 } from '../../bytes.ts'
import type { PathNode, PlacedMemory } from './path-tree.ts'

/** A memory, or a directory that is not gone into: its path ends in `/`. */
export type PathEntry<Memory extends PlacedMemory> =
  | { readonly path: string; readonly memory: Memory }
  | { readonly path: string; readonly memory: undefined }

/**
 * What lies at or below a node whose path is `path`, of that what sorts after the path `after`;
 * `shallow` names directories in place of going into them.
 */
export function* pathsInOrder<Memory extends PlacedMemory>(
  node: PathNode<Memory>,
  path: string,
  {
    after = '',
    shallow = false,
  }: { readonly after?: string | undefined; readonly shallow?: boolean },
): Generator<PathEntry<Memory>, undefined> {
  if (node.memory !== undefined) {
    if (isAfter(path, after)) yield { path, memory: node.memory }
    return undefined
  }
  const above = path === '/' ? '' : path
  for (const { child, key } of childrenInOrder(node, `${above}/`)) {
    if (child.memory === undefined && shallow) {
      if (isAfter(key, after)) yield { path: key, memory: undefined }
    } else if (after.startsWith(key) || isAfter(key, after)) {
      yield* pathsInOrder(child, `${above}/${child.name}`, { after })
    }
  }
  return undefined
}

interface KeyedChild<Memory extends PlacedMemory> {
  readonly child: PathNode<Memory>
  readonly key: string
}

function childrenInOrder<Memory extends PlacedMemory>(
  node: PathNode<Memory>,
  above: string,
): readonly KeyedChild<Memory>[] {
  const children = [...node.children.values()].map((child) => {
    const key = child.memory === undefined ? `${above}${child.name}/` : above + child.name
    return { child, key, bytes: utf8(key) }
  })
  return children.toSorted((a, b) => compareBytes(a.bytes, b.bytes))
}

function isAfter(path: string, after: string): boolean {
  return compareBytes(utf8(path), utf8(after)) > 0
}

// Walks a directory tree in the byte order of paths, from any path on, for listings in pages. A
// directory sorts as its path with a trailing `/`, as do the paths below it.

import { compareBytes, utf8 } from '../../bytes.ts'
import type { PathNode, PlacedMemory } from './path-tree.ts'

/** A memory, or a directory that is not entered: its path ends in `/`. */
export type PathEntry<Memory extends PlacedMemory> =
  | { readonly path: string; readonly memory: Memory }
  | { readonly path: string; readonly memory: undefined }

/**
 * The entries at or below a node with the path `path` that sort after the path `after`. With
 * `shallow`, directories are listed instead of entered.
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
  const directory = path === '/' ? '' : path
  for (const { child, key } of childrenInOrder(node, `${directory}/`)) {
    if (child.memory === undefined && shallow) {
      if (isAfter(key, after)) yield { path: key, memory: undefined }
    } else if (after.startsWith(key) || isAfter(key, after)) {
      yield* pathsInOrder(child, `${directory}/${child.name}`, { after })
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
  prefix: string,
): readonly KeyedChild<Memory>[] {
  const children = [...node.children.values()].map((child) => {
    const key = child.memory === undefined ? `${prefix}${child.name}/` : prefix + child.name
    return { child, key, bytes: utf8(key) }
  })
  return children.toSorted((a, b) => compareBytes(a.bytes, b.bytes))
}

function isAfter(path: string, after: string): boolean {
  return compareBytes(utf8(path), utf8(after)) > 0
}

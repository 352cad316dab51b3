// Directory listings, as plain values for callers.

import type { PathNode, PathTree, PlacedMemory } from './path-tree.ts'

/** A file or a directory, with the entries below it up to the requested depth. */
export interface DirectoryListing {
  readonly type: 'file' | 'directory'
  /** The last segment; empty for the root. */
  readonly name: string
  readonly path: string
  /** Bytes of UTF-8 of the content, or of all contents below. */
  readonly sizeBytes: number
  /** In code-unit order of the name. */
  readonly children: readonly DirectoryListing[]
}

/** Undefined if nothing is at `path`. */
export function listDirectory(
  { paths }: { readonly paths: PathTree<PlacedMemory> },
  path: string,
  depth: number,
): DirectoryListing | undefined {
  const node = paths.find(path)
  return node === undefined ? undefined : describe(node, path, depth)
}

function describe(node: PathNode<PlacedMemory>, path: string, depth: number): DirectoryListing {
  const below = path === '/' ? '' : path
  const children =
    depth <= 0
      ? []
      : Array.from(node.children.values(), (child) => {
          return describe(child, `${below}/${child.name}`, depth - 1)
        })
  const type = node.memory === undefined ? 'directory' : 'file'
  return { type, name: node.name, path, sizeBytes: node.bytes, children }
}

// Lists directories: as a tree of plain values to some depth, or in pages in the byte order of
// paths, in which a directory sorts as its path with a trailing `/`.

import { compareBytes, utf8 } from '../../bytes.ts'
import type { PathNode, PlacedMemory, PathTree } from './path-tree.ts'

/** A file or a directory, with the entries below it up to the requested depth. */
export interface DirectoryListing {
  readonly type: 'file' | 'directory'
  /** The last segment; empty for the root. */
  readonly name: string
  readonly path: string
  /** Bytes of UTF-8 of the content, or of all contents below. */
  readonly sizeBytes: number
  /** When a memory was changed last, ms since 1970; undefined for a directory. */
  readonly updatedAt?: number | undefined
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
  const updatedAt = node.memory?.updated
  return { type, name: node.name, path, sizeBytes: node.bytes, updatedAt, children }
}

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

function childrenInOrder<Memory extends PlacedMemory>(node: PathNode<Memory>, prefix: string) {
  const children = [...node.children.values()].map((child) => {
    const key = child.memory === undefined ? `${prefix}${child.name}/` : prefix + child.name
    return { child, key, bytes: utf8(key) }
  })
  return children.toSorted((a, b) => compareBytes(a.bytes, b.bytes))
}

function isAfter(path: string, after: string): boolean {
  return compareBytes(utf8(path), utf8(after)) > 0
}

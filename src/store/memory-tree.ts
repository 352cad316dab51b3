// The radix tree below `m/` (FORMAT §2.1) as git trees. Its shape depends on the set of memory ids
// alone. Only directories on the way to a changed memory are encoded again.

import { assert } from '../errors.ts'
import { encodeTree, newObject } from '../git/object.ts'
import type { NewObject, Oid, TreeEntry } from '../git/object.ts'
import { getTree } from './git-reads.ts'
import type { ObjectSource } from './git-reads.ts'

const FLAT_MAX = 16
const DIGITS = '0123456789abcdef'.split('')

interface Directory {
  count: number
  /** The git tree, while nothing below changed since it was encoded. */
  oid: Oid | undefined
  /** Either the blobs by full memory id, or one directory per next digit. */
  files: Map<string, Oid> | undefined
  directories: Map<string, Directory> | undefined
}

export class MemoryTree {
  readonly #root: Directory = newDirectory()

  get count(): number {
    return this.#root.count
  }

  find(memoryId: string): Oid | undefined {
    let directory: Directory | undefined = this.#root
    for (let depth = 0; directory !== undefined; depth += 1) {
      if (directory.files !== undefined) return directory.files.get(memoryId)
      directory = directory.directories?.get(digitAt(memoryId, depth))
    }
    return undefined
  }

  /** Sets the blob of a memory, or removes the memory if `blob` is undefined. */
  set(memoryId: string, blob: Oid | undefined): void {
    if (blob !== undefined) put(this.#root, 0, memoryId, blob)
    else if (this.find(memoryId) !== undefined) remove(this.#root, 0, memoryId)
  }

  /** The oid of the tree `m`, undefined when empty; trees not encoded before go to `into`. */
  encode(into: NewObject[]): Oid | undefined {
    return this.#root.count === 0 ? undefined : encode(this.#root, 0, into)
  }
}

/** The blob of a memory in the tree `m` of some commit, read from git. */
export function findBlob(objects: ObjectSource, root: Oid, memoryId: string): Oid | undefined {
  let tree = root
  for (let depth = 0; depth < memoryId.length; depth += 1) {
    const entries = getTree(objects, tree)
    const rest = memoryId.slice(depth)
    const file = entries.find((entry) => entry.name === rest && entry.mode === '100644')
    if (file !== undefined) return file.oid
    const digit = digitAt(memoryId, depth)
    const next = entries.find((entry) => entry.name === digit && entry.mode === '40000')
    if (next === undefined) return undefined
    tree = next.oid
  }
  return undefined
}

function newDirectory(): Directory {
  return { count: 0, oid: undefined, files: new Map(), directories: undefined }
}

function put(directory: Directory, depth: number, memoryId: string, blob: Oid): void {
  directory.oid = undefined
  if (directory.files !== undefined) {
    directory.files.set(memoryId, blob)
    directory.count = directory.files.size
    if (directory.count > FLAT_MAX) split(directory, depth)
    return
  }
  const child = childFor(directory, digitAt(memoryId, depth))
  const before = child.count
  put(child, depth + 1, memoryId, blob)
  directory.count += child.count - before
}

function remove(directory: Directory, depth: number, memoryId: string): void {
  directory.oid = undefined
  directory.count -= 1
  if (directory.files !== undefined) {
    directory.files.delete(memoryId)
    return
  }
  const digit = digitAt(memoryId, depth)
  const child = childFor(directory, digit)
  remove(child, depth + 1, memoryId)
  if (child.count === 0) directory.directories?.delete(digit)
  if (directory.count <= FLAT_MAX) flatten(directory)
}

function split(directory: Directory, depth: number): void {
  const files = directory.files ?? new Map<string, Oid>()
  directory.files = undefined
  directory.directories = new Map()
  for (const [memoryId, blob] of files) {
    put(childFor(directory, digitAt(memoryId, depth)), depth + 1, memoryId, blob)
  }
}

function flatten(directory: Directory): void {
  const files = new Map<string, Oid>()
  for (const child of directory.directories?.values() ?? []) {
    // A child of a directory with few memories has few itself, so it is flat.
    assert(child.files !== undefined, 'a small directory is flat')
    for (const [memoryId, blob] of child.files) files.set(memoryId, blob)
  }
  directory.files = files
  directory.directories = undefined
}

function childFor(directory: Directory, digit: string): Directory {
  assert(directory.directories !== undefined, 'only a split directory has children')
  let child = directory.directories.get(digit)
  if (child === undefined) {
    child = newDirectory()
    directory.directories.set(digit, child)
  }
  return child
}

function encode(directory: Directory, depth: number, into: NewObject[]): Oid {
  if (directory.oid !== undefined) return directory.oid
  const entries: TreeEntry[] = []
  if (directory.files !== undefined) {
    for (const memoryId of [...directory.files.keys()].toSorted()) {
      const oid = directory.files.get(memoryId) ?? ''
      entries.push({ mode: '100644', name: memoryId.slice(depth), oid })
    }
  }
  for (const digit of directory.directories === undefined ? [] : DIGITS) {
    const child = directory.directories?.get(digit)
    if (child !== undefined) {
      entries.push({ mode: '40000', name: digit, oid: encode(child, depth + 1, into) })
    }
  }
  const tree = newObject('tree', encodeTree(entries))
  into.push(tree)
  directory.oid = tree.oid
  return tree.oid
}

function digitAt(memoryId: string, depth: number): string {
  return memoryId.charAt(depth)
}

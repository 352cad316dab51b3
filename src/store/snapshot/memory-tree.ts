// The radix tree below `m/` (FORMAT §2.1) as git trees. Its shape depends only on the set of memory
// ids. Only directories above a changed memory are encoded again; of a verified tree, the ids of
// the others are read from git.

import { equalBytes } from '../../bytes.ts'
import { assert, StoreError } from '../../errors.ts'
import {
  encodeTree,
  findTreeEntry,
  type NewObject,
  newObject,
  type Oid,
  type TreeEntry,
} from '../../git/objects/object.ts'
import { atOnce } from '../../time-slice.ts'
import { getTreeBody, type ObjectSource } from './git-reads.ts'

/** A directory with more memories below it is split. */
export const FLAT_MAX = 16
const DIGITS = '0123456789abcdef'.split('')
/** `40000 <digit>`, a zero byte and the 20 bytes of an oid. */
const ENTRY_OID_AT = 8
const ENTRY_LENGTH = 28
/** `100644 `, a zero byte and the 20 bytes of an oid; between them the rest of a memory id. */
const FILE_MODE_LENGTH = 7
const FILE_FRAME_LENGTH = 28

interface Directory {
  count: number
  /** The git tree; undefined once something below has changed. */
  oid: Oid | undefined
  /** The blobs by full memory id; undefined for a split directory. */
  files: Map<string, Oid> | undefined
  /** The directories by next digit; undefined for a flat directory. */
  directories: Map<string, Directory> | undefined
  /** The encoded tree while its names are the same; that of a flat directory is up to date. */
  body: Buffer | undefined
}

export class MemoryTree {
  #root: Directory = newDirectory()
  /** Where the trees are that were not encoded here. */
  #objects: ObjectSource | undefined

  /** An independent copy, which keeps the ids of encoded trees. */
  copy(): MemoryTree {
    const copy = new MemoryTree()
    copy.#root = copyOf(this.#root)
    copy.#objects = this.#objects
    return copy
  }

  /** Takes the ids of a verified root tree in git, whose memories these are. */
  trust(objects: ObjectSource, root: Oid): void {
    const body = readTree(objects, root)
    this.#root.oid = body && findTreeEntry(body, '40000', 'm')
    this.#objects = objects
  }

  /**
   * Call before `set`: reads the ids next to the path of a memory, so that it need not
   * be encoded. Changes nothing. Throws `tree_mismatch` if git has other memories next to it.
   */
  reveal(memoryId: string): void {
    let directory: Directory | undefined = this.#root
    for (let depth = 0; directory?.oid !== undefined && this.#objects !== undefined; depth += 1) {
      revealIn(this.#objects, directory, directory.oid, depth)
      directory = directory.directories?.get(digitAt(memoryId, depth))
    }
  }

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

  /**
   * The oid of the tree `m`, undefined when empty. Adds newly encoded trees to `into` and yields
   * after each. `set` must not be called in the meantime.
   */
  *encode(into: NewObject[]): Generator<undefined, Oid | undefined> {
    return this.#root.count === 0 ? undefined : yield* encode(this.#root, 0, into)
  }
}

/** The blob of a memory in the tree `m` of some commit, read from git. */
export function findBlob(objects: ObjectSource, root: Oid, memoryId: string): Oid | undefined {
  let tree: Oid | undefined = root
  for (let depth = 0; tree !== undefined && depth < memoryId.length; depth += 1) {
    const body = getTreeBody(objects, tree)
    const file = findTreeEntry(body, '100644', memoryId.slice(depth))
    if (file !== undefined) return file
    tree = findTreeEntry(body, '40000', digitAt(memoryId, depth))
  }
  return undefined
}

/** A tree that cannot be read leaves its directory to be encoded from its contents. */
function revealIn(objects: ObjectSource, directory: Directory, oid: Oid, depth: number): void {
  const { files, directories } = directory
  if (files !== undefined && directory.body === undefined) {
    if (newObject('tree', encodeFiles(directory, files, depth)).oid !== oid) throw otherTree()
  }
  const children = [...(directories?.values() ?? [])]
  if (children.every((child) => child.oid !== undefined)) return
  const body = readTree(objects, oid)
  if (body === undefined || directories === undefined) return
  for (const [digit, child] of directories) child.oid ??= findTreeEntry(body, '40000', digit)
  directory.body = undefined
  const expected = atOnce(encodeSplit(directory, directories, depth, []))
  if (!equalBytes(expected, body)) throw otherTree()
}

/** The tree of an id, which its bytes must have. */
function readTree(objects: ObjectSource, oid: Oid): Uint8Array | undefined {
  try {
    const body = getTreeBody(objects, oid)
    return newObject('tree', body).oid === oid ? body : undefined
  } catch (error) {
    if (error instanceof StoreError) return undefined
    throw error
  }
}

function otherTree(): StoreError {
  return new StoreError('tree_mismatch', 'The memories are not those of the tree')
}

function newDirectory(): Directory {
  return { count: 0, oid: undefined, files: new Map(), directories: undefined, body: undefined }
}

/** A copy without the bodies, which are changed in place. */
function copyOf({ count, oid, files, directories }: Directory): Directory {
  const children = directories && [...directories]
  return {
    count,
    oid,
    files: files && new Map(files),
    directories: children && new Map(children.map(([digit, child]) => [digit, copyOf(child)])),
    body: undefined,
  }
}

function put(directory: Directory, depth: number, memoryId: string, blob: Oid): void {
  directory.oid = undefined
  const { files } = directory
  if (files !== undefined) {
    if (files.has(memoryId)) patchFile(files, directory.body, memoryId, depth, blob)
    else directory.body = undefined
    files.set(memoryId, blob)
    directory.count = files.size
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
    directory.body = undefined
    return
  }
  const digit = digitAt(memoryId, depth)
  const child = childFor(directory, digit)
  remove(child, depth + 1, memoryId)
  if (child.count === 0) {
    directory.directories?.delete(digit)
    directory.body = undefined
  }
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
  directory.body = undefined
}

function childFor(directory: Directory, digit: string): Directory {
  assert(directory.directories !== undefined, 'only a split directory has children')
  let child = directory.directories.get(digit)
  if (child === undefined) {
    child = newDirectory()
    directory.directories.set(digit, child)
    directory.body = undefined
  }
  return child
}

function* encode(
  directory: Directory,
  depth: number,
  into: NewObject[],
): Generator<undefined, Oid> {
  if (directory.oid !== undefined) return directory.oid
  const { files, directories } = directory
  const body =
    directories === undefined
      ? encodeFiles(directory, files ?? new Map<string, Oid>(), depth)
      : yield* encodeSplit(directory, directories, depth, into)
  const tree = newObject('tree', body)
  into.push(tree)
  directory.oid = tree.oid
  yield
  return tree.oid
}

function encodeFiles(
  directory: Directory,
  files: ReadonlyMap<string, Oid>,
  depth: number,
): Uint8Array {
  if (directory.body === undefined) {
    const entries = Array.from(files, ([memoryId, oid]): TreeEntry => {
      return { mode: '100644', name: memoryId.slice(depth), oid }
    })
    directory.body = Buffer.from(encodeTree(entries))
  }
  return new Uint8Array(directory.body)
}

/** Writes a changed blob id into the encoded tree: the common case of one changed file. */
function patchFile(
  files: ReadonlyMap<string, Oid>,
  body: Buffer | undefined,
  memoryId: string,
  depth: number,
  blob: Oid,
): void {
  if (body === undefined) return
  let index = 0
  for (const other of files.keys()) if (other < memoryId) index += 1
  const nameLength = memoryId.length - depth
  const start = index * (FILE_FRAME_LENGTH + nameLength)
  body.write(blob, start + FILE_MODE_LENGTH + nameLength + 1, 'hex')
}

/** Encodes a split directory, patching only the ids of changed children: usually one. */
function* encodeSplit(
  directory: Directory,
  directories: ReadonlyMap<string, Directory>,
  depth: number,
  into: NewObject[],
): Generator<undefined, Uint8Array> {
  const isNew = directory.body === undefined
  const body = directory.body ?? Buffer.alloc(directories.size * ENTRY_LENGTH)
  let at = 0
  for (const digit of DIGITS) {
    const child = directories.get(digit)
    if (child === undefined) continue
    if (isNew) body.write(`40000 ${digit}\0`, at, 'latin1')
    if (isNew || child.oid === undefined) {
      body.write(yield* encode(child, depth + 1, into), at + ENTRY_OID_AT, 'hex')
    }
    at += ENTRY_LENGTH
  }
  directory.body = body
  return new Uint8Array(body)
}

function digitAt(memoryId: string, depth: number): string {
  return memoryId.charAt(depth)
}

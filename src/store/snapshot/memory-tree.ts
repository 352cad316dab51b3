// The live memories as the radix tree below `m/` (FORMAT §2.1). Its shape depends only on the set
// of memory ids. Immutable: a change shares all directories except those above it, and only those
// are encoded again. Of a verified tree, the ids of the others are read from git.

import { equalBytes } from '../../bytes.ts'
import { StoreError } from '../../errors.ts'
import { findTreeEntry, type NewObject, newObject, type Oid } from '../../git/objects/object.ts'
import { Bytes } from '../../platform/bytes.ts'
import { atOnce } from '../../time-slice.ts'
import { getTreeBody, type ObjectSource } from './git-reads.ts'
import type { CurrentVersion, LiveMemory } from './live-memory.ts'

/** A directory with more memories below it is split. */
export const FLAT_MAX = 16
/** Memories that are sorted into directories between two pauses. */
const STEP = 256
const DIGIT_0 = '0'.charCodeAt(0)
const LETTER_A = 'a'.charCodeAt(0)
const DIGITS = '0123456789abcdef'.split('')
const FILE_MODE = '100644 '
const OID_LENGTH = 20
/** `40000 <digit>` and a zero byte; then the oid. */
const ENTRY_OID_AT = 8
const ENTRY_LENGTH = ENTRY_OID_AT + OID_LENGTH

/** The current version of a live memory. */
export type LiveVersion = CurrentVersion & { readonly live: LiveMemory }

interface TreeDirectory {
  readonly count: number
  /** Undefined for a split directory. */
  readonly memories: readonly LiveVersion[] | undefined
  /** By next digit; undefined for a flat directory. */
  readonly directories: readonly (TreeDirectory | undefined)[] | undefined
  /** The git tree, once it was encoded or read from git. */
  oid: Oid | undefined
  /** Whether the tree is known to have these memories. */
  isChecked: boolean
  /** A split directory that was encoded before; most of its entries are the same. */
  earlier: EncodedDirectory | undefined
}

interface EncodedDirectory {
  readonly directories: readonly (TreeDirectory | undefined)[]
  readonly body: Uint8Array
}

export class MemoryTree {
  readonly #root: TreeDirectory
  /** Where the trees are that were not encoded here. */
  readonly #objects: ObjectSource | undefined

  private constructor(root: TreeDirectory, objects: ObjectSource | undefined) {
    this.#root = root
    this.#objects = objects
  }

  static of(versions: readonly LiveVersion[] = []): MemoryTree {
    return atOnce(MemoryTree.making(versions))
  }

  /** `of` in steps. */
  static *making(versions: readonly LiveVersion[]): Generator<undefined, MemoryTree> {
    return new MemoryTree(yield* directoryOf(versions, 0), undefined)
  }

  /** The same tree, with the ids of a verified root tree in git, whose memories these are. */
  trusting(objects: ObjectSource, root: Oid): MemoryTree {
    const body = readTree(objects, root)
    const oid = body && findTreeEntry(body, '40000', 'm')
    return new MemoryTree({ ...this.#root, oid }, objects)
  }

  /**
   * Call before a change: reads the ids next to the path of a memory, so that it need not be
   * encoded. Throws `tree_mismatch` if git has other memories next to it.
   */
  reveal(memoryId: string): void {
    let directory: TreeDirectory | undefined = this.#root
    for (let depth = 0; directory?.oid !== undefined && this.#objects !== undefined; depth += 1) {
      revealIn(this.#objects, directory, directory.oid, depth)
      directory = directory.directories?.[digitAt(memoryId, depth)]
    }
  }

  get count(): number {
    return this.#root.count
  }

  find(memoryId: string): LiveVersion | undefined {
    let directory: TreeDirectory | undefined = this.#root
    for (let depth = 0; directory?.directories !== undefined; depth += 1) {
      directory = directory.directories[digitAt(memoryId, depth)]
    }
    return directory?.memories?.find(({ live }) => live.memoryId === memoryId)
  }

  with(version: LiveVersion): MemoryTree {
    return new MemoryTree(put(this.#root, 0, version), this.#objects)
  }

  without(memoryId: string): MemoryTree {
    if (this.find(memoryId) === undefined) return this
    return new MemoryTree(remove(this.#root, 0, memoryId) ?? flat([]), this.#objects)
  }

  [Symbol.iterator](): Generator<LiveVersion, undefined> {
    return versionsIn(this.#root)
  }

  /** The versions that an earlier tree, with which this one shares directories, does not have. */
  *changesSince(earlier: MemoryTree): Generator<LiveVersion, undefined> {
    for (const version of changedIn(this.#root, earlier.#root)) {
      if (earlier.find(version.live.memoryId) !== version) yield version
    }
    return undefined
  }

  /**
   * The oid of the tree `m`, undefined when empty. Adds newly encoded trees to `into` and yields
   * after each.
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
    tree = findTreeEntry(body, '40000', memoryId.charAt(depth))
  }
  return undefined
}

/** A tree that cannot be read leaves its directory to be encoded from its contents. */
function revealIn(objects: ObjectSource, directory: TreeDirectory, oid: Oid, depth: number): void {
  const { memories, directories } = directory
  if (directory.isChecked) return
  if (memories !== undefined) {
    if (newObject('tree', encodeFiles(memories, depth)).oid !== oid) throw otherTree()
  } else if (directories !== undefined) {
    const body = readTree(objects, oid)
    if (body === undefined) return
    for (const [digit, child] of directories.entries()) {
      if (child !== undefined) child.oid ??= findTreeEntry(body, '40000', DIGITS[digit] ?? '')
    }
    const expected = atOnce(encodeSplit(directories, undefined, depth, []))
    if (!equalBytes(expected, body)) throw otherTree()
  }
  directory.isChecked = true
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

/** A directory of memories whose ids are equal up to `depth`. */
function* directoryOf(
  versions: readonly LiveVersion[],
  depth: number,
): Generator<undefined, TreeDirectory> {
  yield
  if (versions.length <= FLAT_MAX) return flat(versions)
  const groups: (LiveVersion[] | undefined)[] = DIGITS.map(() => undefined)
  for (const [index, version] of versions.entries()) {
    if (index % STEP === 0) yield
    const digit = digitAt(version.live.memoryId, depth)
    const group = groups[digit]
    if (group === undefined) groups[digit] = [version]
    else group.push(version)
  }
  const directories: (TreeDirectory | undefined)[] = []
  for (const group of groups) directories.push(group && (yield* directoryOf(group, depth + 1)))
  return split(directories)
}

/** Those that were read from a cache are in another order. */
function inOrder(memories: readonly LiveVersion[]): readonly LiveVersion[] {
  const isSorted = memories.every(({ live }, at) => {
    return at === 0 || (memories[at - 1]?.live.memoryId ?? '') < live.memoryId
  })
  if (isSorted) return memories
  return memories.toSorted((a, b) => (a.live.memoryId < b.live.memoryId ? -1 : 1))
}

function flat(memories: readonly LiveVersion[]): TreeDirectory {
  const { length: count } = memories
  return newDirectory({ count, memories, directories: undefined })
}

function split(
  directories: readonly (TreeDirectory | undefined)[],
  earlier?: EncodedDirectory,
): TreeDirectory {
  const count = directories.reduce((sum, child) => sum + (child?.count ?? 0), 0)
  return newDirectory({ count, memories: undefined, directories }, earlier)
}

function newDirectory(
  { count, memories, directories }: Pick<TreeDirectory, 'count' | 'memories' | 'directories'>,
  earlier?: EncodedDirectory,
): TreeDirectory {
  return { count, memories, directories, oid: undefined, isChecked: false, earlier }
}

function put(
  directory: TreeDirectory | undefined,
  depth: number,
  version: LiveVersion,
): TreeDirectory {
  const { memoryId } = version.live
  if (directory?.directories === undefined) {
    const memories = inOrder(directory?.memories ?? [])
    const above = memories.findIndex(({ live }) => live.memoryId >= memoryId)
    const at = above === -1 ? memories.length : above
    const replaced = memories[at]?.live.memoryId === memoryId ? 1 : 0
    const changed = memories.toSpliced(at, replaced, version)
    return changed.length > FLAT_MAX ? atOnce(directoryOf(changed, depth)) : flat(changed)
  }
  const digit = digitAt(memoryId, depth)
  const child = put(directory.directories[digit], depth + 1, version)
  return split(directory.directories.with(digit, child), directory.earlier)
}

/** Removes a memory that is there; undefined if it was the only one. */
function remove(
  directory: TreeDirectory,
  depth: number,
  memoryId: string,
): TreeDirectory | undefined {
  const { count, memories, directories } = directory
  if (count === 1) return undefined
  if (directories === undefined) {
    return flat((memories ?? []).filter(({ live }) => live.memoryId !== memoryId))
  }
  const digit = digitAt(memoryId, depth)
  const child = directories[digit]
  const rest = split(directories.with(digit, child && remove(child, depth + 1, memoryId)))
  return rest.count <= FLAT_MAX ? flat([...versionsIn(rest)]) : rest
}

function* versionsIn({ memories, directories }: TreeDirectory): Generator<LiveVersion, undefined> {
  if (memories !== undefined) yield* memories
  for (const child of directories ?? []) if (child !== undefined) yield* versionsIn(child)
  return undefined
}

/** The versions in the directories that are not shared. */
function* changedIn(
  directory: TreeDirectory,
  earlier: TreeDirectory | undefined,
): Generator<LiveVersion, undefined> {
  if (directory === earlier) return undefined
  if (directory.memories !== undefined) yield* directory.memories
  for (const [digit, child] of (directory.directories ?? []).entries()) {
    if (child !== undefined) yield* changedIn(child, earlier?.directories?.[digit])
  }
  return undefined
}

function* encode(
  directory: TreeDirectory,
  depth: number,
  into: NewObject[],
): Generator<undefined, Oid> {
  const { oid, memories, directories, earlier } = directory
  if (oid !== undefined) return oid
  let body: Uint8Array
  if (directories === undefined) body = encodeFiles(memories ?? [], depth)
  else {
    body = yield* encodeSplit(directories, earlier, depth, into)
    directory.earlier = { directories, body }
  }
  const tree = newObject('tree', body)
  into.push(tree)
  directory.oid = tree.oid
  directory.isChecked = true
  yield
  return tree.oid
}

function encodeFiles(memories: readonly LiveVersion[], depth: number): Uint8Array {
  const [first] = memories
  if (first === undefined) return new Uint8Array()
  const frame = FILE_MODE.length + first.live.memoryId.length - depth + 1
  const body = Bytes.alloc(memories.length * (frame + OID_LENGTH))
  for (const [index, { live }] of inOrder(memories).entries()) {
    const at = index * (frame + OID_LENGTH)
    body.write(FILE_MODE + live.memoryId.slice(depth), at, 'latin1')
    body.write(live.blob, at + frame, 'hex')
  }
  return new Uint8Array(body.buffer, body.byteOffset, body.length)
}

function hasSameNames(
  directories: EncodedDirectory['directories'],
  earlier: EncodedDirectory['directories'],
): boolean {
  return directories.every((child, digit) => {
    return (child === undefined) === (earlier[digit] === undefined)
  })
}

/** Copies the entries of directories that are those of the earlier tree. */
function* encodeSplit(
  directories: readonly (TreeDirectory | undefined)[],
  earlier: EncodedDirectory | undefined,
  depth: number,
  into: NewObject[],
): Generator<undefined, Uint8Array> {
  const known = earlier && hasSameNames(directories, earlier.directories) ? earlier : undefined
  const body = known ? Bytes.from(known.body) : Bytes.alloc(DIGITS.length * ENTRY_LENGTH)
  let at = 0
  // By index: an iterator of entries would make an array of two for each of them.
  for (let digit = 0; digit < directories.length; digit += 1) {
    const child = directories[digit]
    if (child === undefined) continue
    if (child !== known?.directories[digit]) {
      if (known === undefined) body.write(`40000 ${DIGITS[digit]}\0`, at, 'latin1')
      body.write(yield* encode(child, depth + 1, into), at + ENTRY_OID_AT, 'hex')
    }
    at += ENTRY_LENGTH
  }
  return new Uint8Array(body.buffer, body.byteOffset, at)
}

/** The number of a hex digit. */
function digitAt(memoryId: string, depth: number): number {
  const code = memoryId.charCodeAt(depth)
  return code < LETTER_A ? code - DIGIT_0 : code - LETTER_A + 10
}

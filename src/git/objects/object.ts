// Git objects and trees as bytes. Owns the names and modes that a tree of the store may have
// (FORMAT §2). Must not read or write files. Stricter than git: a tree that it refuses is damaged
// or was not written by a store.

import { asciiText, type Sealed, toHex } from '../../bytes.ts'
import { gitHash } from '../../crypto/sha1.ts'
import { assert, StoreError } from '../../errors.ts'
import { Bytes } from '../../platform/bytes.ts'

/** The name of an object: 40 lower-case hex digits. */
export type Oid = string

export type ObjectType = 'commit' | 'tree' | 'blob'

/** An object that was read. Callers share `body` and must not change it. */
export interface GitObject {
  readonly type: ObjectType
  readonly body: Uint8Array
}

/**
 * The largest size that the reader of an object expects: a pack refuses a larger one before it
 * inflates it, and the reader refuses one from elsewhere.
 */
export interface SizeLimit {
  readonly bytes: number
  readonly refusal: () => StoreError
}

/** An object to write: a blob takes sealed bytes only. */
export type NewObject =
  | { readonly oid: Oid; readonly type: 'commit' | 'tree'; readonly body: Uint8Array }
  | { readonly oid: Oid; readonly type: 'blob'; readonly body: Sealed }

export interface TreeEntry {
  readonly mode: '100644' | '40000'
  readonly name: string
  readonly oid: Oid
}

// No separator, no leading dot, no tilde: no name that a file system treats as `.git`.
const namePattern = /^[0-9A-Za-z][0-9A-Za-z._-]{0,254}$/
const OID_BYTES = 20
/** The largest tree of a store has sixteen entries of sixty bytes. */
const treeBytesMax = 4096
export const treeLimit: SizeLimit = {
  bytes: treeBytesMax,
  refusal: () => malformed('it is larger than any tree of a store'),
}
/** The first digit of a file's mode, `100644`. */
const fileModeStart = 0x31
/** A commit starts with its tree, then its parents; git allows no more parents than fit here. */
const treeLine = /^tree ([0-9a-f]{40})\n$/
const treeLineBytes = 46
const parentLine = /^parent ([0-9a-f]{40})\n$/
const parentLineBytes = 48
const parentPrefix = 'parent '
const headerBytesMax = 4096

export function newObject(
  ...[type, body]: ['commit' | 'tree', Uint8Array] | ['blob', Sealed]
): NewObject {
  const oid = gitHash(type, body)
  return type === 'blob' ? { oid, type, body } : { oid, type, body }
}

/** The tree and the parents of a commit. */
interface CommitLinks {
  readonly tree: Oid
  readonly parents: readonly Oid[]
}

/**
 * The links of a commit by any program, as git reads them; undefined if the body does not start as
 * a commit does. Checks nothing else.
 */
export function findLinks(body: Uint8Array): CommitLinks | undefined {
  const tree = treeLine.exec(asciiText(body.subarray(0, treeLineBytes)))?.[1]
  if (tree === undefined) return undefined
  const parents: Oid[] = []
  for (let at = treeLineBytes; at < headerBytesMax; at += parentLineBytes) {
    const parent = parentLine.exec(asciiText(body.subarray(at, at + parentLineBytes)))?.[1]
    if (parent === undefined) break
    parents.push(parent)
  }
  return { tree, parents }
}

/** Like `findLinks`, but undefined if git would read more parents than it returns. */
export function findAllLinks(body: Uint8Array): CommitLinks | undefined {
  const links = findLinks(body)
  if (links === undefined) return undefined
  const at = treeLineBytes + links.parents.length * parentLineBytes
  return asciiText(body.subarray(at, at + parentPrefix.length)) === parentPrefix ? undefined : links
}

/** Encodes a tree; entries may be in any order. */
export function encodeTree(entries: readonly TreeEntry[]): Uint8Array {
  const inOrder = findProblem(entries) === undefined
  const sorted = inOrder ? entries : entries.toSorted((a, b) => (sortKey(a) < sortKey(b) ? -1 : 1))
  const problem = inOrder ? undefined : findProblem(sorted)
  assert(problem === undefined, `a tree to write is malformed: ${problem}`)
  const length = sorted.reduce((sum, { mode, name }) => sum + mode.length + name.length + 22, 0)
  const body = Bytes.alloc(length)
  let at = 0
  for (const { mode, name, oid } of sorted) {
    at += body.write(`${mode} ${name}\0`, at, 'latin1')
    const written = body.write(oid, at, 'hex')
    assert(written === OID_BYTES && oid.length === 2 * OID_BYTES, 'an oid has 40 hex digits')
    at += written
  }
  return new Uint8Array(body.buffer, body.byteOffset, length)
}

/** The entries of a tree, in git's order. Throws `object_corrupt` on bytes git would not write. */
export function decodeTree(body: Uint8Array): TreeEntry[] {
  if (body.length > treeLimit.bytes) throw treeLimit.refusal()
  const view = Bytes.from(body.buffer, body.byteOffset, body.length)
  const entries: TreeEntry[] = []
  for (let at = 0; at < view.length;) {
    const mode = view[at] === fileModeStart ? '100644' : '40000'
    const nameAt = at + mode.length + 1
    const end = view.indexOf(0, at)
    if (end === -1 || end + 1 + OID_BYTES > view.length) throw malformed('it ends too early')
    if (view.toString('latin1', at, nameAt) !== `${mode} `) {
      throw malformed('it has an entry of another mode')
    }
    at = end + 1 + OID_BYTES
    const name = view.toString('latin1', nameAt, end)
    entries.push({ mode, name, oid: view.toString('hex', end + 1, at) })
  }
  const problem = findProblem(entries)
  if (problem !== undefined) throw malformed(problem)
  return entries
}

/**
 * The oid of one entry; undefined if the tree has no entry of that mode and name. Does not
 * validate.
 */
export function findTreeEntry(
  body: Uint8Array,
  mode: TreeEntry['mode'],
  name: string,
): Oid | undefined {
  const wanted = `${mode} ${name}`
  const { length } = body
  for (let at = 0; at < length;) {
    let end = at
    let isWanted = true
    // Compared byte by byte: for such short entries any call costs more.
    for (; end < length && body[end] !== 0; end += 1) {
      isWanted &&= body[end] === wanted.charCodeAt(end - at)
    }
    const next = end + 1 + OID_BYTES
    if (next > length) return undefined
    if (isWanted && end - at === wanted.length) return toHex(body.subarray(end + 1, next))
    at = next
  }
  return undefined
}

function findProblem(entries: readonly TreeEntry[]): string | undefined {
  let previous = ''
  let files = 0
  for (const entry of entries) {
    if (!namePattern.test(entry.name)) return 'it has a name that is not allowed in a store'
    const key = sortKey(entry)
    if (key <= previous) return 'its names are out of order'
    previous = key
    if (entry.mode === '100644') files += 1
  }
  // A file and a directory of the same name are not adjacent in git's order.
  const isMixed = files > 0 && files < entries.length
  if (!isMixed || new Set(entries.map(({ name }) => name)).size === entries.length) return undefined
  return 'it has a name twice'
}

/** Git sorts a directory as if its name ended in a slash. */
function sortKey(entry: TreeEntry): string {
  return entry.mode === '40000' ? `${entry.name}/` : entry.name
}

function malformed(problem: string): StoreError {
  return new StoreError('object_corrupt', `A tree is malformed: ${problem}`)
}

const space = 0x20
const slash = 0x2f
/** The first digit of mode `40000`; a file's mode starts with 1. */
const directoryDigit = 0x34

export class TreeCursor {
  readonly #body: Uint8Array
  #start = 0
  #name = 0
  /** The position of the NUL after the name; -1 after the last entry. */
  #nul = -1

  constructor(body: Uint8Array) {
    this.#body = body
    this.#locate()
  }

  /** Whether the cursor is at an entry; if not, nothing else may be called. */
  get valid(): boolean {
    return this.#nul !== -1
  }

  get isDirectory(): boolean {
    return this.#body[this.#start] === directoryDigit
  }

  /** 20 bytes, as a view. */
  get oid(): Uint8Array {
    return this.#body.subarray(this.#nul + 1, this.#nul + 1 + OID_BYTES)
  }

  next(): void {
    this.#start = this.#nul + 1 + OID_BYTES
    this.#locate()
  }

  /** Negative if git sorts this entry before the other; 0 if name and kind are equal. */
  compareName(other: TreeCursor): number {
    for (let at = 0; ; at += 1) {
      const left = this.#nameByte(at)
      const right = other.#nameByte(at)
      if (left !== right) return left - right
      if (left === -1) return 0
    }
  }

  hasOidOf(other: TreeCursor): boolean {
    for (let at = 1; at <= OID_BYTES; at += 1) {
      if (this.#body[this.#nul + at] !== other.#body[other.#nul + at]) return false
    }
    return true
  }

  /** Git treats a directory's name as ending in a slash; -1 after the end. */
  #nameByte(at: number): number {
    const index = this.#name + at
    if (index < this.#nul) return this.#body[index] ?? -1
    return index === this.#nul && this.isDirectory ? slash : -1
  }

  #locate(): void {
    this.#name = this.#body.indexOf(space, this.#start) + 1
    this.#nul = this.#name === 0 ? -1 : this.#body.indexOf(0, this.#name)
    if (this.#nul + OID_BYTES >= this.#body.length) this.#nul = -1
  }
}

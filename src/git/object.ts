// Git objects and trees as bytes. Owns the names and modes that a tree of the store may have
// (FORMAT §2); must not read or write files. Stricter than git: a tree that this refuses is either
// damaged or was never written by a store.

import { asciiText, toHex, type Sealed } from '../bytes.ts'
import { gitHash } from '../crypto/sha1.ts'
import { assert, StoreError } from '../errors.ts'

/** The name of an object: 40 lower-case hex digits. */
export type Oid = string

export type ObjectType = 'commit' | 'tree' | 'blob'

/** An object as it was read. Callers share `body` and must not change it. */
export interface GitObject {
  readonly type: ObjectType
  readonly body: Uint8Array
}

/** An object to be written: a blob takes sealed bytes only. */
export type NewObject =
  | { readonly oid: Oid; readonly type: 'commit' | 'tree'; readonly body: Uint8Array }
  | { readonly oid: Oid; readonly type: 'blob'; readonly body: Sealed }

export interface TreeEntry {
  readonly mode: '100644' | '40000'
  readonly name: string
  readonly oid: Oid
}

const oidPattern = /^[0-9a-f]{40}$/
// No separator, no leading dot, no tilde: so none of the names that file systems take for `.git`.
const namePattern = /^[0-9A-Za-z][0-9A-Za-z._-]{0,254}$/
const oidBytes = 20
/** The largest honest tree has sixteen entries of sixty bytes. */
const treeBytesMax = 4096
const space = 0x20
/** A commit begins with its tree, then its parents; git refuses to merge more than fit in here. */
const treeLine = /^tree ([0-9a-f]{40})\n$/
const treeLineBytes = 46
const parentLine = /^parent ([0-9a-f]{40})\n$/
const parentLineBytes = 48
const headerBytesMax = 4096

export function newObject(
  ...[type, body]: ['commit' | 'tree', Uint8Array] | ['blob', Sealed]
): NewObject {
  const oid = gitHash(type, body)
  return type === 'blob' ? { oid, type, body } : { oid, type, body }
}

/** What a commit leads to. */
export interface CommitLinks {
  readonly tree: Oid
  readonly parents: readonly Oid[]
}

/**
 * As git reads them, of a commit that any program may have written; undefined for what does not
 * begin as a commit does. Judges nothing else.
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

function isOid(text: string): boolean {
  return oidPattern.test(text)
}

/** The body of a tree; entries may come in any order. */
export function encodeTree(entries: readonly TreeEntry[]): Uint8Array {
  const inOrder = findTreeProblem(entries) === undefined
  const sorted = inOrder ? entries : entries.toSorted((a, b) => (sortKey(a) < sortKey(b) ? -1 : 1))
  const problem = inOrder ? undefined : findTreeProblem(sorted)
  assert(problem === undefined, `a tree to write is malformed: ${problem}`)
  const length = sorted.reduce((sum, { mode, name }) => sum + mode.length + name.length + 22, 0)
  const body = Buffer.alloc(length)
  let at = 0
  for (const { mode, name, oid } of sorted) {
    at += body.write(`${mode} ${name}\0`, at, 'latin1')
    at += body.write(oid, at, 'hex')
  }
  return new Uint8Array(body.buffer, body.byteOffset, length)
}

/** The entries of a tree, in git's order. Throws `object_corrupt` on bytes git would not write. */
export function decodeTree(body: Uint8Array): TreeEntry[] {
  if (body.length > treeBytesMax) throw malformed('it is larger than any tree of a store')
  const entries: TreeEntry[] = []
  let at = 0
  while (at < body.length) {
    const nameAt = body.indexOf(space, at) + 1
    const end = nameAt === 0 ? -1 : body.indexOf(0, nameAt)
    if (end === -1 || end + 1 + oidBytes > body.length) throw malformed('it ends too early')
    const mode = asciiText(body.subarray(at, nameAt - 1))
    if (mode !== '100644' && mode !== '40000') throw malformed('it has an entry of another mode')
    at = end + 1 + oidBytes
    const name = asciiText(body.subarray(nameAt, end))
    entries.push({ mode, name, oid: toHex(body.subarray(end + 1, at)) })
  }
  const problem = findTreeProblem(entries)
  if (problem !== undefined) throw malformed(problem)
  return entries
}

/** One entry of a tree; undefined if it has none of that mode and name. Does not judge the tree. */
export function findTreeEntry(
  body: Uint8Array,
  mode: TreeEntry['mode'],
  name: string,
): Oid | undefined {
  const view = Buffer.from(body.buffer, body.byteOffset, body.length)
  const wanted = `${mode} ${name}`
  for (let at = 0; at < view.length;) {
    const end = view.indexOf(0, at)
    if (end === -1) return undefined
    const next = end + 1 + oidBytes
    if (end - at === wanted.length && view.toString('latin1', at, end) === wanted) {
      return next > view.length ? undefined : view.toString('hex', end + 1, next)
    }
    at = next
  }
  return undefined
}

function findTreeProblem(entries: readonly TreeEntry[]): string | undefined {
  const names = new Set<string>()
  let previous = ''
  for (const entry of entries) {
    if (!namePattern.test(entry.name)) return 'it has a name that no store uses'
    if (!isOid(entry.oid)) return 'it names an object by something that is no oid'
    // A file and a directory of one name are not neighbours in git's order.
    if (names.has(entry.name)) return 'it has a name twice'
    names.add(entry.name)
    const key = sortKey(entry)
    if (key <= previous) return 'its names are out of order'
    previous = key
  }
  return undefined
}

/** Git sorts a directory as if its name ended in a slash. */
function sortKey(entry: TreeEntry): string {
  return entry.mode === '40000' ? `${entry.name}/` : entry.name
}

function malformed(problem: string): StoreError {
  return new StoreError('object_corrupt', `A tree is malformed: ${problem}`)
}

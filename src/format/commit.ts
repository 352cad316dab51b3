// Commits (FORMAT §6) in their canonical bytes. Parsing only extracts the parts; verification
// encodes them again and compares, so that no header, space or line break is left to
// interpretation. Readers of verified commits use `findSections`, several times faster.

import { asciiBytes, asciiText, equalBytes, fromBase64 } from '../bytes.ts'
import type { SigningKeyPair } from '../crypto/signature.ts'
import { StoreError } from '../errors.ts'
import { Bytes } from '../platform/bytes.ts'
import { armorLength, encodeArmor, findArmor } from './armor.ts'
import { readKid } from './envelope.ts'
import { recordBytesMax } from './record.ts'
import { groupSignature } from './sshsig.ts'

export interface CommitParts {
  /** Git oids, 40 hex digits. */
  readonly tree: string
  /** By ascending record hash; at most two. */
  readonly parents: readonly string[]
  readonly height: number
  /** The sealed record. */
  readonly record: Uint8Array
  /** The sealed detail, of a record that writes versions. */
  readonly detail: Uint8Array | undefined
}

export interface ParsedCommit extends CommitParts {
  /** The SSHSIG armor, ending in a newline. */
  readonly signature: string
}

/** Height as a date, so that git shows and sorts a history without learning any clock. */
const TIME_BASE = 1_000_000_000
const LINE_WIDTH = 72
const PERSON = 'gitlocket <gitlocket@localhost>'
const SUBJECT = 'gitlocket change'
const RECORD = 'GITLOCKET RECORD'
const DETAIL = 'GITLOCKET DETAIL'
const PARENTS_MAX = 2
const OID_LENGTH = 40
const PARENT = 'parent '
const TREE_AT = 'tree '.length
const PARENT_AT = TREE_AT + OID_LENGTH + 1
const AUTHOR = /author [^\n]*> (\d{10,16}) \+0000\n/y
/** Longer than a canonical commit from its start to the end of the author line. */
const LINKS_LENGTH = 512
/** Longer than a canonical commit from its start to the begin of the record. */
const HEADER_LENGTH = 4096
const DETAIL_END = asciiBytes(`-----END ${DETAIL}-----\n`)

/** The commit, signed with the epoch's group key. */
export function encodeCommit(parts: CommitParts, group: SigningKeyPair): Uint8Array {
  const unsigned = encodeUnsigned(parts)
  const armor = groupSignature(asciiBytes(`${unsigned.header}\n${unsigned.message}`), group)
  return join(unsigned, armor)
}

/**
 * Throws `commit_malformed`, `commit_too_large` for a record above what its rows need, or what
 * `openRecord` throws. Accepts more than the canonical form. `openRecord` gets the sealed record
 * and returns how large the detail may be: a larger one is not decoded.
 */
export function parseCommit(
  bytes: Uint8Array,
  openRecord?: (record: Uint8Array) => number,
): ParsedCommit {
  const cursor = new Cursor(bytes)
  const { tree, parents, time, signature } = takeHeader(cursor)
  const record = cursor.findArmor(RECORD, recordBytesMax)
  const detailMax = record && openRecord?.(record)
  const detail = cursor.findArmor(DETAIL, detailMax)
  const height = time - TIME_BASE
  if (record === undefined || !cursor.isAtEnd || !isHeight(height)) throw malformed()
  return { tree, parents, height, record, detail, signature }
}

/** The root tree of a commit that is not verified yet. Throws `commit_malformed`. */
export function parseTree(bytes: Uint8Array): string {
  const cursor = new Cursor(bytes.subarray(0, HEADER_LENGTH))
  const { tree } = takeHeader(cursor)
  cursor.take(/(-----BEGIN GITLOCKET RECORD-----)\n/y)
  return tree
}

/** What precedes the record. */
function takeHeader(cursor: Cursor): {
  readonly tree: string
  readonly parents: readonly string[]
  readonly time: number
  readonly signature: string
} {
  const tree = cursor.takeTree()
  const parents = cursor.takeParents()
  const time = Number(cursor.take(AUTHOR))
  cursor.take(/committer ([^\n]*)\n/y)
  const signature = cursor.takeSignature()
  cursor.take(/\n(gitlocket change)\n\n/y)
  return { tree, parents, time, signature }
}

/**
 * Throws `group_signature_invalid` if only the signature differs from the group key's, and
 * `commit_not_canonical` if anything else differs.
 */
export function verifyCommitBytes(
  bytes: Uint8Array,
  parts: CommitParts,
  group: SigningKeyPair,
): void {
  if (equalBytes(bytes, encodeCommit(parts, group))) return
  if (equalBytes(bytes, join(encodeUnsigned(parts), parseCommit(bytes).signature))) {
    throw new StoreError('group_signature_invalid', 'The outer signature of a commit is not valid')
  }
  throw new StoreError('commit_not_canonical', 'The bytes of a commit are not canonical')
}

/** The parents and the height of a commit that is not verified yet. */
export interface UnverifiedLinks extends Pick<CommitParts, 'parents' | 'height'> {
  /** Whether the commit ends like one with a detail. */
  readonly hasDetail: boolean
}

/** Parses what a walk through a history needs. Throws `commit_malformed`. */
export function parseLinks(bytes: Uint8Array): UnverifiedLinks {
  const cursor = new Cursor(bytes.subarray(0, LINKS_LENGTH))
  cursor.takeTree()
  const parents = cursor.takeParents()
  const height = Number(cursor.take(AUTHOR)) - TIME_BASE
  if (!isHeight(height)) throw malformed()
  return { parents, height, hasDetail: equalBytes(bytes.subarray(-DETAIL_END.length), DETAIL_END) }
}

/** The public position of a commit. Throws `commit_malformed`. */
export interface CommitPlace extends Pick<CommitParts, 'tree' | 'parents'> {
  /** The epoch of its record. */
  readonly kid: string
}

export function parsePlace(bytes: Uint8Array): CommitPlace {
  const cursor = new Cursor(bytes)
  const tree = cursor.takeTree()
  const parents = cursor.takeParents()
  const start = cursor.take(
    /[^]*?\n-----BEGIN GITLOCKET RECORD-----\n([A-Za-z0-9+/]{72}\n[A-Za-z0-9+/]{72})\n/y,
  )
  const envelope = fromBase64(start.replace('\n', ''))
  if (envelope === undefined) throw malformed()
  return { tree, parents, kid: readKid('record', envelope) }
}

/** The parts of a verified commit that readers need. */
export interface CommitSections extends Pick<CommitParts, 'record' | 'detail'> {
  /** None in genesis, two in a merge. */
  readonly parents: readonly string[]
}

/** Throws `commit_malformed` if there is no record. */
export function findSections(bytes: Uint8Array): CommitSections {
  const buffer = bufferOf(bytes)
  const text = buffer.toString('latin1')
  const parents: string[] = []
  for (let at = PARENT_AT; text.startsWith(PARENT, at); at += PARENT.length + OID_LENGTH + 1) {
    const oid = at + PARENT.length
    // Cut from the bytes: a slice of the text would keep the whole text alive.
    parents.push(buffer.toString('latin1', oid, oid + OID_LENGTH))
  }
  const record = findSection(text, RECORD)
  if (record === undefined) throw malformed()
  return { parents, record, detail: findSection(text, DETAIL) }
}

/** Whether an unverified commit may have a detail; exact for a verified one. */
export function mayHaveDetail(bytes: Uint8Array): boolean {
  const buffer = bufferOf(bytes)
  return buffer.includes(`-----BEGIN ${DETAIL}`)
}

/** The root tree, 40 hex digits. */
export function treeOf(bytes: Uint8Array): string {
  const buffer = bufferOf(bytes)
  return buffer.toString('latin1', TREE_AT, TREE_AT + OID_LENGTH)
}

function findSection(text: string, name: string): Uint8Array | undefined {
  const begin = `-----BEGIN ${name}-----\n`
  const start = text.indexOf(begin)
  if (start === -1) return undefined
  const end = text.indexOf(`-----END ${name}-----\n`, start)
  // The base64 decoder skips line breaks.
  return end === -1 ? undefined : Bytes.from(text.slice(start + begin.length, end), 'base64')
}

/**
 * Rebuilds a verified commit with another tree, other parents and, if given, another detail (FORMAT
 * §10). Everything else keeps its bytes, except the signature.
 */
export function remakeCommit(
  bytes: Uint8Array,
  change: Pick<CommitParts, 'tree' | 'parents' | 'detail'>,
  group: SigningKeyPair,
): Uint8Array {
  const text = asciiText(bytes)
  const parents = change.parents.map((parent) => `parent ${parent}\n`).join('')
  const people = text.slice(text.indexOf('author '), text.indexOf('gpgsig '))
  const header = `tree ${change.tree}\n${parents}${people}`
  const message = withDetail(text.slice(text.indexOf('\n\n') + 2), change.detail)
  return join({ header, message }, groupSignature(asciiBytes(`${header}\n${message}`), group))
}

function withDetail(message: string, detail: Uint8Array | undefined): string {
  if (detail === undefined) return message
  const end = message.indexOf(`-----BEGIN ${DETAIL}-----\n`)
  return message.slice(0, end) + encodeArmor(DETAIL, detail, LINE_WIDTH)
}

/** A commit without its signature, which is inserted between the two parts. */
interface Unsigned {
  readonly header: string
  readonly message: string
}

function encodeUnsigned({ tree, parents, height, record, detail }: CommitParts): Unsigned {
  const stamp = `${PERSON} ${TIME_BASE + height} +0000`
  const parentLines = parents.map((parent) => `parent ${parent}\n`).join('')
  const detailBlock = detail === undefined ? '' : encodeArmor(DETAIL, detail, LINE_WIDTH)
  return {
    header: `tree ${tree}\n${parentLines}author ${stamp}\ncommitter ${stamp}\n`,
    message: `${SUBJECT}\n\n${encodeArmor(RECORD, record, LINE_WIDTH)}${detailBlock}`,
  }
}

/** Git indents the continuation lines of a header by one space. */
function join({ header, message }: Unsigned, armor: string): Uint8Array {
  const folded = armor.slice(0, -1).replaceAll('\n', '\n ')
  return asciiBytes(`${header}gpgsig ${folded}\n\n${message}`)
}

/** Reads text by patterns, each of which starts where the previous match ended. */
class Cursor {
  readonly #bytes: Bytes
  readonly #text: string
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bufferOf(bytes)
    this.#text = this.#bytes.toString('latin1')
  }

  get isAtEnd(): boolean {
    return this.#at === this.#text.length
  }

  /** The first group of a sticky pattern, or undefined if it does not match here. */
  find(sticky: RegExp): string | undefined {
    sticky.lastIndex = this.#at
    const match = sticky.exec(this.#text)
    if (match === null) return undefined
    this.#at = sticky.lastIndex
    return match[1]
  }

  take(sticky: RegExp): string {
    const found = this.find(sticky)
    if (found === undefined) throw malformed()
    return found
  }

  takeTree(): string {
    const tree = this.#findOid(/tree ([0-9a-f]{40})\n/y)
    if (tree === undefined) throw malformed()
    return tree
  }

  takeParents(): string[] {
    const parents: string[] = []
    while (parents.length < PARENTS_MAX) {
      const parent = this.#findOid(/parent ([0-9a-f]{40})\n/y)
      if (parent === undefined) break
      parents.push(parent)
    }
    return parents
  }

  /** The unfolded value of the gpgsig header. */
  takeSignature(): string {
    const start = this.#at
    const end = this.#text.indexOf('\n\n', start)
    if (!this.#text.startsWith('gpgsig ', start) || end === -1) throw malformed()
    this.#at = end + 1
    return `${this.#text.slice(start + 'gpgsig '.length, end).replaceAll('\n ', '\n')}\n`
  }

  /** Cut from the bytes: a slice of the text would keep the whole text alive. */
  #findOid(line: RegExp): string | undefined {
    if (this.find(line) === undefined) return undefined
    const end = this.#at - 1
    return this.#bytes.toString('latin1', end - OID_LENGTH, end)
  }

  /** Throws `commit_too_large` if it has more than `bytesMax` bytes. */
  findArmor(name: string, bytesMax = Number.POSITIVE_INFINITY): Uint8Array | undefined {
    const lengthMax = armorLength(bytesMax, LINE_WIDTH)
    const armor = findArmor(name, this.#text, this.#at, (length) => {
      if (length > lengthMax) throw tooLarge()
    })
    if (armor !== undefined) this.#at = armor.end
    return armor?.bytes
  }
}

/** The same memory. */
function bufferOf(bytes: Uint8Array): Bytes {
  return Bytes.from(bytes.buffer, bytes.byteOffset, bytes.length)
}

function isHeight(height: number): boolean {
  return Number.isSafeInteger(height) && height >= 0
}

function tooLarge(): StoreError {
  return new StoreError('commit_too_large', 'A commit has more bytes than its rows need')
}

function malformed(): StoreError {
  return new StoreError('commit_malformed', 'A commit does not have the form of a gitlocket commit')
}

// Extracts the parts of a verified commit (FORMAT §6) without validating it again: several times
// faster than parseCommit, which is for unverified bytes.

import { StoreError } from '../errors.ts'

export interface CommitSections {
  /** 40 hex digits each; none in genesis, two in a merge. */
  readonly parents: readonly string[]
  /** The sealed record. */
  readonly record: Uint8Array
  /** The sealed detail, in records of kind change only. */
  readonly detail: Uint8Array | undefined
}

const RECORD = 'GITLOCKET RECORD'
const DETAIL = 'GITLOCKET DETAIL'
const OID = 40
const TREE_AT = 'tree '.length
const PARENT = 'parent '
const PARENT_AT = TREE_AT + OID + 1
const PARENT_LINE = PARENT.length + OID + 1

/** Throws `commit_malformed` if there is no record. */
export function findSections(bytes: Uint8Array): CommitSections {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const text = buffer.toString('latin1')
  const parents: string[] = []
  for (let at = PARENT_AT; text.startsWith(PARENT, at); at += PARENT_LINE) {
    // Cut from the bytes: a slice of the text would keep the whole text alive.
    parents.push(buffer.toString('latin1', at + PARENT.length, at + PARENT.length + OID))
  }
  const record = findSection(text, RECORD)
  if (record === undefined) throw new StoreError('commit_malformed', 'A commit has no record')
  return { parents, record, detail: findSection(text, DETAIL) }
}

/** Whether an unverified commit may have a detail; exact for a verified one. */
export function mayHaveDetail(bytes: Uint8Array): boolean {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  return buffer.includes(`-----BEGIN ${DETAIL}`)
}

/** The root tree, 40 hex digits. */
export function treeOf(bytes: Uint8Array): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  return buffer.toString('latin1', TREE_AT, TREE_AT + OID)
}

function findSection(text: string, name: string): Uint8Array | undefined {
  const begin = `-----BEGIN ${name}-----\n`
  const start = text.indexOf(begin)
  if (start === -1) return undefined
  const end = text.indexOf(`-----END ${name}-----\n`, start)
  // The base64 decoder skips line breaks.
  return end === -1 ? undefined : Buffer.from(text.slice(start + begin.length, end), 'base64')
}

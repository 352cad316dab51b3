// What the host of a remote can list without a key: every ref, every object and every field that is
// not ciphertext. Anything that it finds and cannot name is an error, so that no visible field is
// missing from the list.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { toHex } from '../../src/bytes.ts'
import { sha256 } from '../../src/crypto/digest.ts'
import { parseCommit, type ParsedCommit } from '../../src/format/commit.ts'
import { decodeKeyring, type KeyringFile } from '../../src/format/keyring.ts'
import { readmeFile } from '../../src/format/public-files.ts'
import { parseBatch } from './reference/repository.ts'
import { decodeTree, type ObjectType } from './reference/tree.ts'
import { git, gitBytes } from './temporary.ts'

export interface ViewedCommit extends ParsedCommit {
  readonly oid: string
  /** Name at the root → object id. */
  readonly files: ReadonlyMap<string, string>
  /** Memory id → blob. */
  readonly memories: ReadonlyMap<string, string>
}

export interface HostView {
  readonly refs: readonly string[]
  /** Of the branch, parents first. */
  readonly commits: readonly ViewedCommit[]
  /** Those of before a redaction, which a host may keep. */
  readonly replaced: readonly ViewedCommit[]
  readonly keyrings: ReadonlyMap<string, KeyringFile>
  readonly storeFile: string
  /** The header of every envelope, by type, and the length of its content. */
  readonly envelopes: readonly Envelope[]
}

export interface Envelope {
  readonly type: number
  readonly kid: string
  readonly salt: string
  /** SHA-256 of all of it. */
  readonly digest: string
  /** The length of the padded plaintext. */
  readonly length: number
}

const OVERHEAD = 96

/** The body of an object that is there. */
type Read = (type: ObjectType, oid: string) => Uint8Array

/** Throws if anything differs from the format. */
export function readHostView(remote: string): HostView {
  const refs = git(['for-each-ref', '--format=%(refname)'], remote).trim().split('\n')
  const oids = git(['rev-list', '--reverse', '--topo-order', '--all'], remote).trim().split('\n')
  const objects = parseBatch(gitBytes(['cat-file', '--batch-all-objects', '--batch'], remote))
  const read: Read = (type, oid) => {
    const body = objects.get(`${type} ${oid}`)
    if (body === undefined) throw new Error(`The ${type} ${oid} is missing`)
    return body
  }
  const commits = oids.map((oid) => readCommit(read, oid))
  const replaced = [...objects.keys()]
    .flatMap((key) => /^commit (.*)$/.exec(key)?.[1] ?? [])
    .filter((oid) => !oids.includes(oid))
    .map((oid) => readCommit(read, oid))
  const all = [...commits, ...replaced]
  const envelopes = all.flatMap(({ record, detail }) => [record, ...(detail ? [detail] : [])])
  const keyrings = new Map<string, KeyringFile>()
  const blobs = new Set<string>()
  for (const { files, memories } of all) {
    for (const oid of memories.values()) blobs.add(oid)
    for (const name of files.keys()) expectKnown(name)
    blobs.add(files.get('settings') ?? '')
    const keyring = files.get('keyring') ?? ''
    keyrings.set(keyring, decodeKeyring(read('blob', keyring)))
  }
  for (const oid of blobs) envelopes.push(read('blob', oid))
  for (const { slots, archiveA, archiveC, directory } of keyrings.values()) {
    envelopes.push(archiveA, archiveC, directory, ...slots.map(({ envelope }) => envelope))
  }
  const [first] = commits
  const constant = Buffer.from(read('blob', first?.files.get('README.md') ?? ''))
  if (!constant.equals(readmeFile)) throw new Error('README.md is not the constant one')
  const storeFile = Buffer.from(read('blob', first?.files.get('store.json') ?? '')).toString()
  return { refs, commits, replaced, keyrings, storeFile, envelopes: envelopes.map(readEnvelope) }
}

function expectKnown(name: string): void {
  if (['README.md', 'keyring', 'm', 'settings', 'store.json'].includes(name)) return
  throw new Error(`${name} is no file of a store`)
}

/** A commit with only its parsed fields: the rest of its text is constant. */
function readCommit(read: Read, oid: string): ViewedCommit {
  const bytes = read('commit', oid)
  const commit = parseCommit(bytes)
  const shape = Buffer.from(bytes)
    .toString('latin1')
    .replace(/^gpgsig -----BEGIN SSH SIGNATURE-----\n(?: .*\n)+/m, '')
    .replaceAll(/^[A-Za-z0-9+/=]{1,72}\n/gm, '')
  const person = `gitlocket <gitlocket@localhost> ${1_000_000_000 + commit.height} +0000\n`
  const section = (name: string): string => `-----BEGIN ${name}-----\n-----END ${name}-----\n`
  const expected = [
    `tree ${commit.tree}\n`,
    ...commit.parents.map((parent) => `parent ${parent}\n`),
    `author ${person}committer ${person}\ngitlocket change\n\n`,
    section('GITLOCKET RECORD'),
    commit.detail === undefined ? '' : section('GITLOCKET DETAIL'),
  ]
  if (shape !== expected.join('')) throw new Error(`The commit ${oid} says more than it should`)
  const root = decodeTree(read('tree', commit.tree))
  const files = new Map(root.map((entry) => [entry.name, entry.oid]))
  const blobs = blobsBelow(read, files.get('m'))
  return { ...commit, oid, files, memories: new Map(blobs) }
}

/** Their paths without slashes, and their ids. */
function blobsBelow(read: Read, tree?: string): readonly (readonly [string, string])[] {
  if (tree === undefined) return []
  return decodeTree(read('tree', tree)).flatMap(({ mode, name, oid }) => {
    if (mode === '100644') return [[name, oid] as const]
    return blobsBelow(read, oid).map(([rest, blob]) => [name + rest, blob] as const)
  })
}

function readEnvelope(bytes: Uint8Array): Envelope {
  const envelope = Buffer.from(bytes)
  const suite = envelope[4]
  const flags = envelope.readUInt16BE(6)
  const isOurs = envelope.subarray(0, 4).equals(Buffer.from('GLK1')) && suite === 1 && flags === 0
  if (!isOurs) throw new Error('This is no envelope')
  return {
    type: envelope[5] ?? 0,
    kid: toHex(envelope.subarray(8, 24)),
    salt: toHex(envelope.subarray(24, 48)),
    digest: toHex(sha256(bytes)),
    length: envelope.length - OVERHEAD,
  }
}

/**
 * Every object as it is and out of its armor, every file of the repository as it lies, and every
 * name: in which a search for what should not be there is made.
 */
export function everyByte(remote: string): Buffer {
  const objects = gitBytes(['cat-file', '--batch-all-objects', '--batch'], remote)
  const armored = objects.toString('latin1').matchAll(/-----BEGIN [A-Z ]+-----\n([^-]*)-----END/g)
  const unpacked = [...armored].map(([, text = '']) => Buffer.from(text, 'base64'))
  const files = readdirSync(remote, { recursive: true, withFileTypes: true })
  const names = files.map(({ name }) => Buffer.from(`${name}\n`))
  const contents = files
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => readFileSync(join(parentPath, name)))
  return Buffer.concat([objects, ...unpacked, ...names, ...contents])
}

// What the host of a remote can list without a key: every ref, every object and every field that is
// not ciphertext. Whatever it finds and cannot put a name to is an error, so that nothing is seen
// that nobody has listed.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { toHex } from '../../src/bytes.ts'
import { sha256 } from '../../src/crypto/digest.ts'
import { parseCommit, type ParsedCommit } from '../../src/format/commit.ts'
import { decodeKeyring, type KeyringFile } from '../../src/format/keyring.ts'
import { readmeFile } from '../../src/format/public-files.ts'
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
  /** The header of every envelope, by type, and the length of what is behind it. */
  readonly envelopes: readonly Envelope[]
}

export interface Envelope {
  readonly type: number
  readonly kid: string
  readonly salt: string
  /** SHA-256 of all of it. */
  readonly digest: string
  /** Of the padded plaintext. */
  readonly length: number
}

const OVERHEAD = 96

/** Throws where something is not what the format says. */
export function readHostView(remote: string): HostView {
  const refs = git(['for-each-ref', '--format=%(refname)'], remote).trim().split('\n')
  const oids = git(['rev-list', '--reverse', '--topo-order', '--all'], remote).trim().split('\n')
  const commits = oids.map((oid) => readCommit(remote, oid))
  const kept = git(['cat-file', '--batch-all-objects', '--batch-check'], remote)
  const replaced = [...kept.matchAll(/^([0-9a-f]{40}) commit /gm)]
    .flatMap(([, oid]) => (oid === undefined || oids.includes(oid) ? [] : [oid]))
    .map((oid) => readCommit(remote, oid))
  const all = [...commits, ...replaced]
  const envelopes = all.flatMap(({ record, detail }) => [record, ...(detail ? [detail] : [])])
  const keyrings = new Map<string, KeyringFile>()
  const blobs = new Set<string>()
  for (const { files, memories } of all) {
    for (const oid of memories.values()) blobs.add(oid)
    for (const name of files.keys()) expectKnown(name)
    blobs.add(files.get('settings') ?? '')
    keyrings.set(files.get('keyring') ?? '', readKeyring(remote, files.get('keyring') ?? ''))
  }
  for (const oid of blobs) envelopes.push(readBlob(remote, oid))
  for (const { slots, archiveA, archiveC, directory } of keyrings.values()) {
    envelopes.push(archiveA, archiveC, directory, ...slots.map(({ envelope }) => envelope))
  }
  const [first] = commits
  const constant = Buffer.from(readBlob(remote, first?.files.get('README.md') ?? ''))
  if (!constant.equals(readmeFile)) throw new Error('README.md is not the constant one')
  const storeFile = Buffer.from(readBlob(remote, first?.files.get('store.json') ?? '')).toString()
  return { refs, commits, replaced, keyrings, storeFile, envelopes: envelopes.map(readEnvelope) }
}

function expectKnown(name: string): void {
  if (['README.md', 'keyring', 'm', 'settings', 'store.json'].includes(name)) return
  throw new Error(`${name} is no file of a store`)
}

function readBlob(remote: string, oid: string): Uint8Array {
  return gitBytes(['cat-file', 'blob', oid], remote)
}

function readKeyring(remote: string, oid: string): KeyringFile {
  return decodeKeyring(new Uint8Array(readBlob(remote, oid)))
}

/** A commit with nothing in it but what is parsed: the rest of its text is constant. */
function readCommit(remote: string, oid: string): ViewedCommit {
  const bytes = gitBytes(['cat-file', 'commit', oid], remote)
  const commit = parseCommit(new Uint8Array(bytes))
  const shape = bytes
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
  const files = new Map<string, string>()
  const memories = new Map<string, string>()
  for (const line of git(['ls-tree', commit.tree], remote).trim().split('\n')) {
    const [, entry = '', name = ''] = /^\d+ \w+ ([0-9a-f]{40})\t(.*)$/.exec(line) ?? []
    files.set(name, entry)
  }
  const listed = files.has('m') ? git(['ls-tree', '-r', `${commit.tree}:m`], remote) : ''
  for (const line of listed.trim().split('\n')) {
    const [, entry = '', path] = /^100644 blob ([0-9a-f]{40})\t([0-9a-f/]+)$/.exec(line) ?? []
    if (path !== undefined) memories.set(path.replaceAll('/', ''), entry)
  }
  return { ...commit, oid, files, memories }
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

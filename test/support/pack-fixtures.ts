// Objects and packs to test with: a history shaped like a store's, reproducible bytes, and packs
// assembled entry by entry, so that a test can lie about any field.

import { join } from 'node:path'
import { equalBytes, toHex } from '../../src/bytes.ts'
import { sha512 } from '../../src/crypto/digest.ts'
import { gitHash } from '../../src/crypto/sha1.ts'
import { systemDisk } from '../../src/disk/system-disk.ts'
import type { PackStatus } from '../../src/git/object-store.ts'
import { encodeTree, type ObjectType, type TreeEntry } from '../../src/git/objects/object.ts'
import { PackFile, publishPacks } from '../../src/git/pack/pack-file.ts'
import { PackSet } from '../../src/git/pack/pack-set.ts'
import { type PackInput, PackOutput, writePack } from '../../src/git/pack/pack-writer.ts'
import { git } from './temporary.ts'

/** Incompressible bytes that depend on `seed` and nothing else. */
export function noise(seed: string, length: number): Uint8Array {
  const parts: Uint8Array[] = []
  for (let block = 0; block * 64 < length; block += 1) {
    parts.push(sha512(Buffer.from(`${seed} ${block}`)))
  }
  return new Uint8Array(Buffer.concat(parts).subarray(0, length))
}

export function object(type: ObjectType, body: Uint8Array, base?: string): PackInput {
  return { oid: gitHash(type, body), type, body, base }
}

export interface History {
  readonly head: string
  /** Oldest first, each tree with its version before as base. */
  readonly objects: readonly PackInput[]
}

/** What the commits of a store share: the armor of a signature, and the lines around a record. */
export const frame: string = Buffer.from(noise('frame', 200)).toString('base64')

/**
 * `commits` changes of one of 64 files each, in a root tree and sixteen subtrees. Each commit has
 * `shared` in its message.
 */
export function history(commits: number, seed = 'history', shared = ''): History {
  const objects: PackInput[] = []
  const files = new Map<string, string>()
  const trees = new Map<string, PackInput>()
  let head = ''
  const add = (entry: PackInput): string => {
    objects.push(entry)
    return entry.oid
  }
  const addTree = (name: string, entries: readonly TreeEntry[]): string => {
    const tree = object('tree', encodeTree(entries), trees.get(name)?.oid)
    trees.set(name, tree)
    return add(tree)
  }
  for (let n = 0; n < commits; n += 1) {
    const directory = ((n * 7) % 16).toString(16)
    const file = `${directory}/${toHex(noise(`${n % 64}`, 15))}`
    files.set(file, add(object('blob', noise(`${seed} ${n}`, 600))))
    const inDirectory = [...files].filter(([name]) => name.startsWith(`${directory}/`))
    addTree(
      directory,
      inDirectory.map(([name, oid]) => ({ mode: '100644', name: name.slice(2), oid })),
    )
    const root: TreeEntry[] = [...trees].flatMap(([name, { oid }]) => {
      return name === 'root' ? [] : [{ mode: '40000' as const, name, oid }]
    })
    head = add(object('commit', commitBody(addTree('root', root), head, `${shared}${seed} ${n}`)))
  }
  return { head, objects }
}

/** An entry for the object `oid`, whether or not it holds that object. */
export interface RawEntry {
  readonly oid: string
  readonly header: Uint8Array
  readonly deflated: Uint8Array
}

/** A pack of exactly these entries, in this order, with an index that agrees. */
export async function assemblePack(
  directory: string,
  entries: readonly RawEntry[],
): Promise<PackStatus> {
  const pack = await PackFile.write(systemDisk, directory, entries.length, (file) => {
    const output = new PackOutput(file, entries.length)
    for (const { oid, header, deflated } of entries) {
      output.add(Buffer.from(oid, 'hex'), header, deflated)
    }
    return output.finish()
  })
  await publishPacks(systemDisk, directory, [pack])
  return pack
}

/** Which of `expected` a set of packs does not hold, or holds with other bytes. */
export function unreadable(set: PackSet, expected: readonly PackInput[]): string[] {
  const wrong = expected.filter(({ oid, type, body }) => {
    const found = set.read(oid)
    return found?.type !== type || !equalBytes(found.body, body)
  })
  return wrong.map(({ oid }) => oid)
}

/** What cannot be read back from the packs of a directory, and which of them are damaged. */
export function losses(directory: string, expected: readonly PackInput[]): string[] {
  const set = new PackSet(systemDisk, directory)
  set.rescan()
  const lost = [...unreadable(set, expected), ...set.damaged()]
  set.close()
  return lost
}

/** A pack of each part; their names. */
export async function writeParts(directory: string, ...parts: PackInput[][]): Promise<string[]> {
  const names: string[] = []
  for (const part of parts) names.push((await writePack(systemDisk, directory, part)).name)
  return names
}

/** A bare repository in `directory`; returns its pack directory. */
export function bareRepository(directory: string): string {
  git(['init', '--quiet', '--bare', '--initial-branch=main', '.'], directory)
  return join(directory, 'objects', 'pack')
}

/** Every object of a repository, as stock git lists them. */
export function listObjects(repository: string): string[] {
  const format = ['--batch-all-objects', '--batch-check=%(objectname)']
  return git(['cat-file', ...format], repository)
    .trim()
    .split('\n')
}

function commitBody(tree: string, parent: string, message: string): Uint8Array {
  const author = 'gitlocket <gitlocket@localhost> 1000000000 +0000'
  const parents = parent === '' ? '' : `parent ${parent}\n`
  const seal = Buffer.from(noise(message, 800)).toString('base64')
  return Buffer.from(
    `tree ${tree}\n${parents}author ${author}\ncommitter ${author}\n\n${message}\n${seal}\n`,
  )
}

// What tests of a malicious remote share: two machines around a bare repository, what its host may
// do to that with stock git, and what a sync must have left alone.

import { existsSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { StoreError } from '../../src/errors.ts'
import type { Change, SyncReport } from '../../src/index.ts'
import { type World, worldsOf } from './clone-templates.ts'
import {
  bareRemote,
  checkWithGit,
  type Clone,
  firstClone,
  headOf,
  joinClone,
  sync,
} from './clones.ts'
import { failureOf } from './faulty-remotes.ts'
import { author, contentsOf } from './stores.ts'
import { git, gitBytes, temporaryDirectory } from './temporary.ts'

/** Two machines, and the directory of the bare repository between them. */
export type Pair = World<'a' | 'b'>

/** Two machines in step, with /notes.md of three lines. Dear: a test takes a copy of it. */
export async function makePair(url: string): Promise<Omit<Pair, 'remote'>> {
  const a = await firstClone(url)
  await create(a, '/notes.md', 'one\ntwo\nthree\n')
  await sync(a)
  const b = await joinClone(a, url)
  await sync(a)
  return { a, b }
}

/** Gives copies of such a pair. Call it outside of tests. */
export function pairsOfClones(): () => Promise<Pair> {
  return worldsOf(makePair)
}

export async function write({ store }: Clone, ...changes: readonly Change[]): Promise<void> {
  await store.as(author).apply(changes)
}

export async function create(clone: Clone, path: string, content = path): Promise<void> {
  await write(clone, { type: 'create', path, content })
}

export async function edit(clone: Clone, path: string, content: string): Promise<void> {
  await write(clone, { type: 'edit', path, edit: () => content })
}

/** Writes a secret and takes it away again; the version that has it. */
export async function leak(clone: Clone): Promise<string> {
  await create(clone, '/key.txt', 'sk-leaked')
  await edit(clone, '/key.txt', 'revoked')
  const { data: versions } = await clone.store.history.versions({
    path: '/key.txt',
    order: 'oldest',
  })
  return versions[0]?.versionId ?? ''
}

export async function redact({ store }: Clone, versionId: string): Promise<void> {
  await store.as(author).redact({ select: { versionIds: [versionId] }, reason: 'leaked_secret' })
}

export function repair({ store }: Clone): Promise<SyncReport> {
  return store.as(author).sync({ repair: true })
}

export function branchOf(remote: string): string {
  return git(['rev-parse', 'refs/heads/main'], remote).trim()
}

export function moveBranch(remote: string, to: string): void {
  git(['update-ref', 'refs/heads/main', to], remote)
}

/** The raw commit with some of it replaced, stored anew; its id. */
export function rewritten(remote: string, oid: string, change: (text: string) => string): string {
  const text = gitBytes(['cat-file', 'commit', oid], remote).toString('latin1')
  const bytes = Buffer.from(change(text), 'latin1')
  return git(['hash-object', '-t', 'commit', '-w', '--stdin'], remote, bytes).trim()
}

/** A commit again, with another root tree; its id. */
export function withTree(remote: string, oid: string, tree: string): string {
  return rewritten(remote, oid, (text) => text.replace(/^tree .*$/m, `tree ${tree}`))
}

/** The root tree of the head with one file replaced. */
export function treeWith(remote: string, name: string, content: Uint8Array | string): string {
  const blob = git(['hash-object', '-w', '--stdin'], remote, content).trim()
  const entries = git(['ls-tree', 'main'], remote)
    .split('\n')
    .map((line) => (line.endsWith(`\t${name}`) ? `100644 blob ${blob}\t${name}` : line))
  return git(['mktree'], remote, entries.join('\n')).trim()
}

/** The remote shows the history of a clone, which never asked it for its own. */
export async function showClone(remote: string, { store }: Clone): Promise<void> {
  const other = bareRemote()
  await store.remotes.add('elsewhere', other)
  await store.as(author).sync({ remote: 'elsewhere' })
  git(['fetch', '--quiet', other, 'main'], remote)
  moveBranch(remote, branchOf(other))
}

/** Another host, with all that this one has by now. */
export function copyRemote(remote: string): string {
  const copy = `${temporaryDirectory()}/copy.git`
  git(['clone', '--quiet', '--mirror', remote, copy], '/')
  return copy
}

/**
 * From now on a clone that knows one directory as its remote sees another one in that place: the
 * address is the same, and so is all that the clone has seen there.
 */
export function swapRemotes(one: string, other: string): void {
  renameSync(one, `${one}.away`)
  renameSync(other, one)
  renameSync(`${one}.away`, other)
}

/** Takes one object away from a host, whichever pack it is in. */
export function dropObject(remote: string, oid: string): void {
  const packs = join(remote, 'objects/pack')
  for (const name of readdirSync(packs)) {
    const path = join(packs, name)
    const bytes = name.endsWith('.pack') ? readFileSync(path) : undefined
    rmSync(path)
    if (bytes !== undefined) git(['unpack-objects', '-q'], remote, bytes)
  }
  rmSync(join(remote, 'objects', oid.slice(0, 2), oid.slice(2)))
}

/** A pack of some objects of a repository, whole or not. */
export function packOf(directory: string, oids: readonly string[]): Uint8Array {
  const list = `${oids.join('\n')}\n`
  return new Uint8Array(gitBytes(['pack-objects', '--stdout', '-q'], directory, list))
}

/** What a clone keeps of a head that it refused. */
export async function evidenceOf(clone: Clone): Promise<string | undefined> {
  await clone.store.maintenance.checkpoint()
  const kept = join(clone.place.directory, 'gitlocket/refused/origin')
  if (!existsSync(join(kept, 'HEAD'))) return undefined
  // It borrows from the store and is whole.
  git(['fsck', '--connectivity-only', '--no-dangling'], kept)
  return git(['rev-parse', 'main'], kept).trim()
}

/** A sync that is refused, after which the clone is unchanged and still works. */
export async function expectRefused(
  clone: Clone,
  code: string | readonly string[],
): Promise<StoreError> {
  const before = { head: await headOf(clone), contents: await contentsOf(clone.store) }
  const error = await failureOf(sync(clone))
  expect([code].flat()).toContain(error.code)
  expect(await headOf(clone)).toBe(before.head)
  expect(await contentsOf(clone.store)).toEqual(before.contents)
  const path = `/after-${(await headOf(clone)).slice(0, 8)}.md`
  await create(clone, path)
  await clone.store.maintenance.verify()
  checkWithGit(clone.place.directory)
  return error
}

/** All machines have the same commits and memories, and so has the remote, which is sound. */
export async function expectInStep(remote: string, clones: readonly Clone[]): Promise<void> {
  const [first] = clones
  if (first === undefined) return
  for (const clone of clones) {
    expect(await headOf(clone)).toBe(branchOf(remote))
    expect(await contentsOf(clone.store)).toEqual(await contentsOf(first.store))
    await clone.store.maintenance.verify()
  }
  checkWithGit(remote)
}

// Stores to damage: one clone with packs, a journal and unsent work, the remote that it syncs with,
// and backups of it. Made once; each case works on a copy.

import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createStore, generateIdentity, joinStore, openStore } from '../../src/index.ts'
import { author, contentsOf, type TestPlace } from './stores.ts'
import { copyDirectory, git, temporaryDirectory } from './temporary.ts'

export interface DamagedWorld {
  readonly place: TestPlace
  /** Path → content of everything live. */
  readonly contents: Readonly<Record<string, string>>
  /** The path of a remote, which lacks the unsent commits. */
  readonly remote: string
  /** A copy of all files of the store, its journal among them. */
  readonly copy: string
  /** What `git clone --bare` makes, the journal packed before. */
  readonly bare: string
  /** The store of another machine, which has what the remote has. */
  readonly otherClone: string
}

/** In an empty directory. */
export async function damagedWorld(root: string): Promise<DamagedWorld> {
  const remote = `${root}/remote.git`
  git(['init', '--quiet', '--bare', '--initial-branch=main', remote], '/')
  const place = await placeIn(`${root}/first`)
  const { store: created, recoveryKey } = await createStore(place)
  let store = created
  await store.remotes.add('origin', remote)
  const write = async (path: string, text: string): Promise<void> => {
    await store.as(author).apply([{ type: 'create', path, content: text }])
  }
  for (let n = 0; n < 4; n += 1) await write(`/sent/${n}.md`, `sent ${n} `.repeat(20 + n))
  await store.as(author).sync()
  const other = await placeIn(`${root}/other`)
  const how = { url: `${remote}#${(await store.status()).address}`, author, recoveryKey }
  const joined = await joinStore({ ...other, ...how })
  await joined.close()
  await store.as(author).sync()
  for (let n = 0; n < 3; n += 1) await write(`/packed/${n}.md`, `packed ${n} `.repeat(30 + n))
  // Which writes its caches.
  await store.close()
  store = await openStore(place)
  for (let n = 0; n < 4; n += 1) await write(`/journal/${n}.md`, `journal ${n} `.repeat(40 + n))
  const contents = await contentsOf(store)
  const at = { ...place, directory: `${root}/store`, stateDirectory: `${root}/state`, recoveryKey }
  copyDirectory(place.directory, at.directory)
  copyDirectory(place.stateDirectory, at.stateDirectory)
  for (const name of readdirSync(`${at.directory}/gitlocket`)) {
    if (/^owner|lock/.test(name)) rmSync(`${at.directory}/gitlocket/${name}`)
  }
  copyDirectory(at.directory, `${root}/copy`)
  await store.close()
  git(['clone', '--quiet', '--bare', place.directory, `${root}/bare`], '/')
  const places = { copy: `${root}/copy`, bare: `${root}/bare`, otherClone: other.directory }
  return { place: at, contents, remote, ...places }
}

async function placeIn(root: string): Promise<Omit<TestPlace, 'recoveryKey'>> {
  const identity = await generateIdentity()
  return { directory: `${root}/store`, stateDirectory: `${root}/state`, identity }
}

/** A copy to damage. */
export function copyOfWorld({ place }: Pick<DamagedWorld, 'place'>): TestPlace {
  const root = temporaryDirectory()
  const at = { ...place, directory: `${root}/store`, stateDirectory: `${root}/state` }
  copyDirectory(place.directory, at.directory)
  copyDirectory(place.stateDirectory, at.stateDirectory)
  return at
}

export type Harm = 'flip' | 'truncate' | 'empty' | 'remove' | 'garbage'
export const harms: readonly Harm[] = ['flip', 'truncate', 'empty', 'remove', 'garbage']

/** Damages a file; `where` is a part of its length, from 0 to 1. */
export function harm(path: string, how: Harm, where: number): void {
  if (how === 'remove') return rmSync(path)
  const bytes = readFileSync(path)
  const at = Math.min(bytes.length - 1, Math.floor(bytes.length * where))
  if (how === 'flip' && bytes.length > 0) bytes[at] = (bytes[at] ?? 0) ^ 4
  if (how === 'garbage') bytes.subarray(at, at + 64).fill(0x5a)
  const kept = how === 'empty' ? 0 : how === 'truncate' ? at : bytes.length
  // Packs are read-only.
  rmSync(path)
  writeFileSync(path, bytes.subarray(0, kept))
}

/** Every file that a repair handles, by kind. */
export function filesToHarm(place: TestPlace): readonly { readonly kind: string; file: string }[] {
  const { directory, stateDirectory } = place
  const packs = readdirSync(`${directory}/objects/pack`).filter((name) => name.startsWith('pack-'))
  const named = (kind: string, file: string) => (existsSync(file) ? [{ kind, file }] : [])
  const sealed = readdirSync(stateDirectory, { recursive: true, encoding: 'utf8' })
  const cached = readdirSync(`${directory}/gitlocket/cache`, { recursive: true, encoding: 'utf8' })
  return [
    ...packs.flatMap((name) => {
      const kind = name.endsWith('.idx') ? 'index' : 'pack'
      return /\.(?:pack|idx)$/.test(name) ? named(kind, `${directory}/objects/pack/${name}`) : []
    }),
    ...named('branch', `${directory}/refs/heads/main`),
    ...named('HEAD', `${directory}/HEAD`),
    ...named('config', `${directory}/config`),
    ...named('tracking ref', `${directory}/refs/remotes/origin/main`),
    ...['journal-a', 'journal-b'].flatMap((name) =>
      named('journal', `${directory}/gitlocket/${name}`),
    ),
    ...sealed.flatMap((name) => {
      if (name.endsWith('.anchor')) return named('anchor', join(stateDirectory, name))
      return name.endsWith('.remotes') ? named('remotes', join(stateDirectory, name)) : []
    }),
    ...cached.flatMap((name) => {
      return name.endsWith('/state') ? named('cache', `${directory}/gitlocket/cache/${name}`) : []
    }),
  ]
}

// The long histories that sections measure on: some thousand memories of 1 kB, then one changed
// line per version. Made from seeds through the public interface; nothing here is timed.

import { cpSync, lstatSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type Change,
  formatIdentity,
  type MemoryStore,
  openStore,
  type StoreWriter,
  type Version,
} from 'gitlocket'
import type { Clone } from './child.ts'
import { createBenchStore, type Places } from './contenders/product.ts'
import { run } from './machine.ts'
import type { HistorySize } from './options.ts'
import { noteText, revisionLine, seededChoice, seededRandom, steppedClock } from './workload.ts'

const notesPerDirectory = 100
/** Commits that wait together, and so share an fdatasync; the store takes up to 128. */
const atOnce = 128
const author = { actor: { type: 'session', id: 'history' }, session: 'history' } as const

/** A closed store. */
export interface History {
  readonly size: HistorySize
  readonly clone: Clone
  readonly places: Places
}

/** The paths of the first `count` memories, in two levels. */
export function pathsOf({ memories }: Pick<HistorySize, 'memories'>): readonly string[] {
  return Array.from({ length: memories }, (_, index) => {
    return `/${Math.floor(index / notesPerDirectory)}/${index % notesPerDirectory}.md`
  })
}

/** `rows` are the versions in one commit after the memories were created. */
export async function makeHistory(root: string, size: HistorySize, rows = 1): Promise<History> {
  const options = { random: seededRandom('store'), clock: steppedClock() }
  const { store, places } = await createBenchStore(root, options)
  const me = store.as(author)
  const choose = seededChoice('history')
  const paths = pathsOf(size)
  // If there are fewer commits than memories, half of them create all.
  const isShort = size.commits < size.memories
  const together = isShort ? Math.ceil((2 * size.memories) / size.commits) : 1
  const groups = Array.from({ length: Math.ceil(paths.length / together) }, (_, index) =>
    paths.slice(index * together, (index + 1) * together),
  )
  await inBursts(me, groups, (group) =>
    group.map((path) => ({ type: 'create', path, content: noteText(choose) })),
  )
  const commits = Array.from({ length: size.commits - groups.length }, (_, count) => count)
  const revisions = new Map<string, number>()
  await inBursts(me, commits, () => {
    const chosen = new Set(Array.from({ length: rows }, () => paths[choose(paths.length)] ?? ''))
    return [...chosen].map((path) => changedLine(path, revisions))
  })
  await store.close()
  const identityFile = join(root, 'identity')
  writeFileSync(identityFile, formatIdentity(places.identity), { mode: 0o600 })
  const { directory, stateDirectory } = places
  return { size, places, clone: { directory, stateDirectory, identityFile } }
}

/** The next change of a memory's first line. */
function changedLine(path: string, revisions: Map<string, number>): Change {
  const revision = revisions.get(path) ?? 0
  revisions.set(path, revision + 1)
  return {
    type: 'edit',
    path,
    edit: (content) => content.replace(revisionLine(revision), revisionLine(revision + 1)),
  }
}

/** One commit of each item, many of them in flight. */
export async function inBursts<T>(
  me: StoreWriter,
  items: readonly T[],
  changesOf: (item: T) => readonly Change[],
): Promise<void> {
  for (let done = 0; done < items.length; done += atOnce) {
    const burst = items.slice(done, done + atOnce)
    await Promise.all(burst.map((item) => me.apply(changesOf(item))))
  }
}

/** Lends a copy to `work` and deletes it afterwards. The copy is on disk before work begins. */
export async function withCopy<T>(
  { clone, size, places }: History,
  root: string,
  work: (copy: History) => T | Promise<T>,
): Promise<T> {
  const directory = join(root, 'store')
  const stateDirectory = join(root, 'state')
  cpSync(clone.directory, directory, { recursive: true })
  cpSync(clone.stateDirectory, stateDirectory, { recursive: true })
  run('sync', [], { cwd: root })
  const at = { directory, stateDirectory }
  try {
    return await work({ size, clone: { ...clone, ...at }, places: { ...places, ...at } })
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

/** The newest version that is at least `back` versions old and was replaced since. */
export function replacedVersion(history: History, back: number): Promise<Version> {
  return withStore(history.places, async (store) => {
    const replaced = new Set<string>()
    let passed = 0
    for await (const version of store.history.versions({ limit: 1000 })) {
      if (passed >= back && replaced.has(version.memoryId)) return version
      replaced.add(version.memoryId)
      passed += 1
    }
    throw new Error('The history is too short for a redaction this far back')
  })
}

export async function withStore<T>(
  places: Places,
  work: (store: MemoryStore) => Promise<T>,
): Promise<T> {
  const store = await openStore(places)
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

/** Bytes of all files below a directory. */
export function sizeOf(directory: string): number {
  const names = readdirSync(directory, { recursive: true, encoding: 'utf8' })
  const files = names.map((name) => lstatSync(join(directory, name)))
  return files.reduce((sum, file) => sum + (file.isFile() ? file.size : 0), 0)
}

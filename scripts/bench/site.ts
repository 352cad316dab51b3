// The long history that several sections measure on: made once in a run, closed, and copied for
// every change.

import { cpSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { formatIdentity, type MemoryStore, openStore, type Version } from 'gitlocket'
import { type History, type HistorySize, makeHistory } from './long-history.ts'
import { run } from './machine.ts'
import type { RunContext } from './run-context.ts'
import { digits } from './statistics.ts'
import type { TaskAnswer } from './task-child.ts'
import { runTask } from './task.ts'

const saidEvery = 10_000
const pageSize = 1000

/** A finished long history, for everything that is measured on it. */
export interface Site {
  readonly context: RunContext
  readonly history: History
  readonly identityFile: string
  /** `at 100,000 commits and 10,000 memories` */
  readonly size: string
}

/** The original, never to be changed, with warm caches. */
export interface OriginalSite extends Site {
  /** The duration of the first history query without and with its cache. */
  readonly firstQuestion: { readonly fromGit: TaskAnswer; readonly fromCache: TaskAnswer }
}

export async function makeOriginal(context: RunContext): Promise<OriginalSite> {
  const site = await makeSite(context, 'original', context.scale)
  const { memoryId } = await lastMemory(site)
  const { places } = site.history
  const ask = () => runTask(places, site.identityFile, { type: 'versions', memoryId })
  return { ...site, firstQuestion: { fromGit: ask(), fromCache: ask() } }
}

export async function makeSite(
  context: RunContext,
  name: string,
  historySize: HistorySize,
): Promise<Site> {
  const { memories, commits } = historySize
  const size = `at ${digits(commits)} commits and ${digits(memories)} memories`
  context.log(`making a history ${size}`)
  const root = context.directory(name)
  let said = 0
  const history = await makeHistory(root, historySize, (done) => {
    if (done - said < saidEvery) return
    said = done
    context.log(`${done} commits`)
  })
  context.log(`made in ${digits(history.seconds)} s`)
  const identityFile = join(root, 'identity')
  writeFileSync(identityFile, formatIdentity(history.places.identity), { mode: 0o600 })
  return { context, history, identityFile, size }
}

/** Lends a copy to `work` and deletes it afterwards. The copy is on disk before work begins. */
export async function withCopy<T>(
  original: Site,
  work: (copy: Site) => T | Promise<T>,
): Promise<T> {
  const { context, history } = original
  const root = context.directory('copy')
  const { directory, stateDirectory } = history.places
  const places = {
    ...history.places,
    directory: join(root, 'store'),
    stateDirectory: join(root, 'state'),
  }
  cpSync(directory, places.directory, { recursive: true })
  cpSync(stateDirectory, places.stateDirectory, { recursive: true })
  run('sync', [], { cwd: root })
  try {
    return await work({ ...original, history: { ...history, places } })
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

/** A directory next to the store for a measurement. It is deleted with the copy. */
export function besideStore({ history }: Site, name: string): string {
  return join(dirname(history.places.directory), name)
}

/** The memory that was created last. Writes of the bench begin with the first ones. */
export async function lastMemory({
  history,
}: Pick<Site, 'history'>): Promise<{ readonly path: string; readonly memoryId: string }> {
  const path = history.notes.at(-1)?.path
  const memory = await withStore(history, (store) => store.read(`/${path}`))
  if (path === undefined || memory === undefined) throw new Error('The history has no notes')
  return { path, memoryId: memory.memoryId }
}

/**
 * For each number of changes the newest version that is at least that many back and that a later
 * version of its memory has replaced.
 */
export function replacedVersions(
  { history }: Site,
  distances: readonly number[],
): Promise<readonly Version[]> {
  return withStore(history, async (store) => {
    const found: Version[] = []
    const seen = new Set<string>()
    let back = 0
    for await (const version of store.history.versions({ limit: pageSize })) {
      const distance = distances[found.length]
      if (distance === undefined) break
      if (back >= distance && seen.has(version.memoryId)) found.push(version)
      seen.add(version.memoryId)
      back += 1
    }
    if (found.length === distances.length) return found
    throw new Error('The history is too short for a redaction so far back')
  })
}

async function withStore<T>(
  { places }: History,
  work: (store: MemoryStore) => Promise<T>,
): Promise<T> {
  const { directory, stateDirectory, identity } = places
  const store = await openStore({ directory, stateDirectory, identity })
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

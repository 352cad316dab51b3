// The history of a path: the version that users name by it, where a memory moved, and the error for
// a path that never was. Reads only.

import type { Version, VersionWithInputs } from '../../store/history/versions.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import { CommandError } from '../call/command.ts'
import { didYouMean } from '../text/near-names.ts'
import { storePath } from '../text/store-path.ts'
import { resolveVersion } from './named.ts'

const PAGE_MAX = 1000
const SUGGESTIONS = 3

/**
 * A version by its id or the first digits of it, or the newest one of a memory, by its id or by a
 * path: the memory that is there, else the one that was there last. Throws `not_found`, or
 * `history_needed` in a clone that begins later.
 */
export async function getNamedVersion(
  store: MemoryStore,
  typed: string,
): Promise<VersionWithInputs> {
  if (typed.startsWith('mem_')) return getNewest(store, typed)
  const isId = typed.startsWith('memver_')
  const live = isId ? undefined : await store.read(storePath(typed))
  if (live !== undefined) return getNewest(store, live.memoryId)
  if (isId || /^[0-9a-z]{4,26}$/.test(typed)) {
    return store.history.version(await resolveVersion(store, typed))
  }
  const path = storePath(typed)
  const last = await findLast(store, path, (version) => version.path === path)
  if (last === undefined) {
    checkIsWhole(store)
    throw await neverWas(store, path)
  }
  return getNewest(store, last.memoryId)
}

async function getNewest(store: MemoryStore, memoryId: string): Promise<VersionWithInputs> {
  const newest = await newestOf(store, memoryId)
  if (newest !== undefined) return store.history.version(newest.versionId)
  checkIsWhole(store)
  throw new CommandError('not_found', 'There is no such memory', '`gitlocket log` lists versions')
}

/** Before the answer that there is no version: an earlier one may be unknown here. */
function checkIsWhole({ history }: MemoryStore): void {
  if (history.beginning === undefined) return
  throw new CommandError(
    'history_needed',
    'Its last change is from before this clone began, or there is no such memory',
    '`gitlocket fetch --all` fetches and verifies the earlier history',
  )
}

async function newestOf(store: MemoryStore, memoryId: string): Promise<Version | undefined> {
  const { data } = await store.history.versions({ memoryId, limit: 1 })
  return data[0]
}

/** The newest version at or below a path that fits. */
async function findLast(
  store: MemoryStore,
  path: string,
  fits: (version: Version) => boolean = () => true,
): Promise<Version | undefined> {
  for await (const version of store.history.versions({ path, limit: PAGE_MAX })) {
    if (fits(version)) return version
  }
  return undefined
}

/**
 * Where the memory or directory is now that was last at a path; undefined if something is still
 * there, or if it was deleted. Throws `not_found` if nothing was ever there.
 */
export async function findMovedTo(store: MemoryStore, path: string): Promise<string | undefined> {
  if ((await store.list(path, { depth: 0 })) !== undefined) return undefined
  const last = await findLast(store, path)
  if (last?.path === undefined) throw await neverWas(store, path)
  const now = await newestOf(store, last.memoryId)
  if (now?.path === undefined || now.operation === 'deleted') return undefined
  // For a directory, the rest of the path is kept.
  const rest = last.path.slice(path.length)
  const moved = now.path.endsWith(rest) ? now.path.slice(0, now.path.length - rest.length) : ''
  return moved === '' || moved === path ? undefined : moved
}

/** The error for a path where nothing is or was, with the paths that are similar. */
export async function neverWas(store: MemoryStore, path: string): Promise<CommandError> {
  const known = new Set<string>()
  for await (const { path: other } of store.history.versions({ limit: PAGE_MAX })) {
    if (other !== undefined) known.add(other)
  }
  const near = didYouMean(path, known, SUGGESTIONS)
  const hint = '`gitlocket ls -R` lists every memory, `gitlocket log` also deleted ones'
  return new CommandError('not_found', `Nothing is or was at ${path}${near}`, hint, {
    details: { path },
  })
}

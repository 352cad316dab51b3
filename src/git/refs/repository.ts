// Which repositories can be a store: bare, with SHA-1 objects, refs in files, complete history, and
// HEAD on refs/heads/main (FORMAT §2, §8.3). Must refuse every other, and every unknown extension:
// guessing could lose data.

import { dirname } from 'node:path'
import { asciiText, concatBytes, equalBytes, utf8 } from '../../bytes.ts'
import type { Random } from '../../crypto/random.ts'
import {
  atomicWrite,
  type Disk,
  makeDurableDirectory,
  syncIfReadable,
  targetOf,
} from '../../disk/disk.ts'
import { LockIdentity } from '../../disk/process-lock.ts'
import { hasCode, StoreError } from '../../errors.ts'
import { lineFileBytesMax } from '../../limits.ts'
import type { ObjectStore } from '../object-store.ts'
import { Branch, branchName } from './branch.ts'
import { findSetting, type GitConfig, parseGitConfig } from './git-config.ts'
import { type GitFileLockContext, replaceUnderLock } from './git-file-lock.ts'
import { checkHasNoLinks } from './no-links.ts'

/** The store's own directory in a repository: journal, locks and caches. Git ignores it. */
export const ownDirectoryName: string = 'gitlocket'

export const headText: string = `ref: ${branchName}\n`

export const newConfig: string = `[core]
\trepositoryformatversion = 0
\tfilemode = false
\tbare = true
`

/**
 * The git settings of a store: no automatic collection, no reflog that keeps redacted commits,
 * little time spent on compressing ciphertext.
 */
const settings: readonly (readonly [section: string, key: string, value: string])[] = [
  ['gc', 'auto', '0'],
  ['gc', 'autoDetach', 'false'],
  ['receive', 'autogc', 'false'],
  ['maintenance', 'auto', 'false'],
  ['core', 'logAllRefUpdates', 'false'],
  ['core', 'compression', '1'],
  ['transfer', 'fsckObjects', 'true'],
]

/** Others that make the same repository at the same moment may win so often. */
const ATTEMPTS = 5

/** How long to wait for another git program that holds the lock file of a ref. */
const gitLockWaitMs = 1000

const directories = ['objects/pack', 'objects/info', 'refs/heads', 'refs/tags', ownDirectoryName]

/**
 * Creates a repository without commits in a directory that is missing, empty, or holds an empty
 * bare repository, including one that was interrupted here. Throws `store_exists` or `not_a_store`.
 */
export async function initRepository(disk: Disk, directory: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await initOnce(disk, directory)
      return
    } catch (error) {
      // There is no lock yet: another process that makes the same one removes our temporary file.
      if (attempt === ATTEMPTS || !hasCode(error, 'storage_failed')) throw error
    }
  }
}

async function initOnce(disk: Disk, directory: string): Promise<void> {
  if (disk.stat(`${directory}/HEAD`) === undefined) {
    refuseForeignFiles(disk, directory)
    checkHasNoLinks(disk, directory)
  } else checkRepository(disk, directory)
  if (new Branch(disk, directory).read() !== undefined) {
    throw storeExists()
  }
  await makeDurableDirectory(disk, directory)
  for (const name of directories) disk.makeDirectory(`${directory}/${name}`)
  const config = disk.readFile(`${directory}/config`, lineFileBytesMax) ?? utf8(newConfig)
  await atomicWrite(disk, `${directory}/config`, withSettings(config) ?? config)
  await disk.syncDirectory(`${directory}/objects`)
  await disk.syncDirectory(`${directory}/refs`)
  // Last, because it makes the directory a repository.
  await atomicWrite(disk, `${directory}/HEAD`, utf8(headText))
  // Also if an earlier, interrupted attempt created the directory.
  await syncIfReadable(disk, dirname(directory))
}

/** Throws unless a branch can begin here. Call it under the writer lock: others may begin one. */
export function checkIsNew(objects: Pick<ObjectStore, 'head' | 'objectIds'>): void {
  if (objects.head !== undefined) throw storeExists()
  const [found] = objects.objectIds()
  if (found === undefined) return
  throw new StoreError('ref_corrupt', `${branchName} is missing, but there are objects`)
}

function storeExists(): StoreError {
  return new StoreError('store_exists', 'This directory holds a store already: open it instead')
}

/**
 * Throws `not_a_store`, `unsupported_repository` or `incomplete_clone` unless this is a bare
 * repository that the engine can use. Does not check whether its content is a store.
 */
export function checkRepository(disk: Disk, directory: string): void {
  const exists = (name: string): boolean => disk.stat(`${directory}/${name}`) !== undefined
  if (!exists('HEAD') || !exists('objects')) {
    throw new StoreError('not_a_store', `Not a store: ${reasonNotAStore(exists('.git'))}`)
  }
  checkHasNoLinks(disk, directory)
  if (exists('commondir')) throw unsupported('it is a linked working tree')
  if (readText(disk, `${directory}/objects/info/alternates`).trim() !== '') {
    throw unsupported('it borrows objects from another repository; git repack -ad ends that')
  }
  checkConfig(readConfig(disk, directory))
  if (exists('shallow') || exists('info/grafts')) throw incomplete()
  if (readText(disk, `${directory}/HEAD`) !== headText) {
    throw unsupported(`its HEAD is not on ${branchName}`)
  }
}

/** Creates the store's own directory, which a clone lacks. */
export async function makeOwnDirectory(context: GitFileLockContext): Promise<void> {
  await makeDurableDirectory(context.disk, context.ownDirectory)
}

/** The files of a repository for a handle of its own. Reads and writes none of them. */
export function repositoryFiles(disk: Disk, directory: string, random: Random): GitFileLockContext {
  const ownDirectory = `${directory}/${ownDirectoryName}`
  const identity = new LockIdentity(disk, ownDirectory, random)
  return { disk, directory, ownDirectory, identity, random, waitMs: gitLockWaitMs }
}

/** Adds the settings of a store that the config lacks. Under the writer lock. */
export async function ensureSettings(context: GitFileLockContext): Promise<void> {
  const read = (): Uint8Array =>
    context.disk.readFile(`${context.directory}/config`, lineFileBytesMax) ?? utf8('')
  const config = read()
  const wanted = withSettings(config)
  if (wanted === undefined) return
  await replaceUnderLock(context, 'config', wanted, () => {
    if (equalBytes(read(), config)) return
    throw new StoreError(
      'ref_conflict',
      "The repository's config changed in the meantime: try again",
    )
  })
}

/** Like `ensureSettings`, but gives way to another program that is editing the config. */
export async function ensureSettingsUnlessBusy(context: GitFileLockContext): Promise<void> {
  try {
    await ensureSettings({ ...context, waitMs: 0 })
  } catch (error) {
    if (!hasCode(error, 'locked', 'ref_conflict')) throw error
  }
}

function checkConfig(config: GitConfig): void {
  const version = findSetting(config, 'core.repositoryformatversion') ?? '0'
  if (version !== '0' && version !== '1') throw unsupported(`its format version is ${version}`)
  if (!/^(true|yes|on|1)$/i.test(findSetting(config, 'core.bare') ?? '')) {
    throw unsupported('it is not bare')
  }
  for (const [name, values] of config) {
    if (name.startsWith('extensions.')) checkExtension(name.slice('extensions.'.length), values)
    if (/^remote\..*\.(promisor|partialclonefilter)$/s.test(name)) throw incomplete()
  }
}

function checkExtension(name: string, values: readonly string[]): void {
  const value = values.at(-1)
  if (name === 'partialclone') throw incomplete()
  if (name === 'objectformat' && value === 'sha1') return
  if (name === 'refstorage' && value === 'files') return
  if (name === 'noop' || name === 'preciousobjects') return
  throw unsupported(`it uses the extension ${name} with an unknown value`)
}

/** The config with every missing setting of a store appended; undefined if none is missing. */
function withSettings(bytes: Uint8Array): Uint8Array | undefined {
  const config = parseGitConfig(asciiText(bytes))
  const lines = settings
    .filter(([section, key, value]) => {
      return findSetting(config, `${section}.${key}`.toLowerCase()) !== value
    })
    .map(([section, key, value]) => `[${section}]\n\t${key} = ${value}\n`)
  return lines.length === 0 ? undefined : concatBytes(bytes, utf8(`\n${lines.join('')}`))
}

/**
 * An interrupted `initRepository` leaves only these names. HEAD is there if another process has
 * made the repository since this one looked for it.
 */
function refuseForeignFiles(disk: Disk, directory: string): void {
  const known = new Set(['HEAD', 'config', 'objects', 'refs', ownDirectoryName])
  const isKnown = (name: string): boolean => {
    const target = targetOf(name)
    return known.has(name) || target === 'config' || target === 'HEAD'
  }
  if (disk.list(directory).every(isKnown)) return
  throw new StoreError(
    'not_a_store',
    'Could not create a store: the directory is not empty, and is not an empty bare repository',
  )
}

function readConfig(disk: Disk, directory: string): GitConfig {
  return parseGitConfig(readText(disk, `${directory}/config`))
}

function readText(disk: Disk, path: string): string {
  const bytes = disk.readFile(path, lineFileBytesMax)
  return bytes === undefined ? '' : asciiText(bytes)
}

function reasonNotAStore(isWorkingTree: boolean): string {
  return isWorkingTree
    ? 'the directory is a working tree; use a bare clone'
    : 'the directory holds no git repository'
}

function unsupported(problem: string): StoreError {
  return new StoreError('unsupported_repository', `The repository cannot be a store: ${problem}`)
}

function incomplete(): StoreError {
  return new StoreError(
    'incomplete_clone',
    'The repository is a shallow, partial or grafted clone: clone it with all of its history',
  )
}

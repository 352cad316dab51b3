// The files that make a directory a repository, and a store: bare, with SHA-1 objects, refs in
// files, complete history, and HEAD on refs/heads/main (FORMAT §2, §8.3). Creates, checks and
// repairs them. Must refuse every other repository, and every unknown extension: guessing could
// lose data.

import { dirname } from 'node:path'
import { utf8 } from '../../bytes.ts'
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
import type { ObjectStore } from '../object-store.ts'
import { Branch, branchName } from './branch.ts'
import { findSetting, type GitConfig, parseGitConfig } from './git-config.ts'
import { editUnderLock, type GitFileLockContext, textOf } from './git-file-lock.ts'
import { readShallow, shallowName } from './shallow.ts'

/** The store's own directory in a repository: journal, locks and caches. Git ignores it. */
export const ownDirectoryName: string = 'gitlocket'

export const headText: string = `ref: ${branchName}\n`

const newConfig = `[core]
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

export interface RepositoryOptions {
  /**
   * Whether the history may end at a boundary (FORMAT §8.3). The caller then trusts nothing below
   * it; all others refuse such a clone.
   */
  readonly mayBeShallow?: boolean | undefined
}

/**
 * Creates a repository without commits in a directory that is missing, empty, or holds an empty
 * bare repository, including one that was interrupted here. Throws `store_exists` or `not_a_store`.
 */
export async function initRepository(
  disk: Disk,
  directory: string,
  how?: RepositoryOptions,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await initOnce(disk, directory, how)
      return
    } catch (error) {
      // There is no lock yet: another process that makes the same one removes our temporary file.
      if (attempt === ATTEMPTS || !hasCode(error, 'storage_failed')) throw error
    }
  }
}

async function initOnce(disk: Disk, directory: string, how?: RepositoryOptions): Promise<void> {
  if (disk.stat(`${directory}/HEAD`) === undefined) {
    refuseForeignFiles(disk, directory)
    checkHasNoLinks(disk, directory)
  } else checkRepository(disk, directory, how)
  if (new Branch(disk, directory).read() !== undefined) {
    throw storeExists()
  }
  await makeDurableDirectory(disk, directory)
  for (const name of directories) disk.makeDirectory(`${directory}/${name}`)
  const config = textOf(disk, `${directory}/config`) || newConfig
  await atomicWrite(disk, `${directory}/config`, Buffer.from(withSettings(config), 'latin1'))
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
export function checkRepository(
  disk: Disk,
  directory: string,
  { mayBeShallow = false }: RepositoryOptions = {},
): void {
  const exists = (name: string): boolean => disk.stat(`${directory}/${name}`) !== undefined
  if (!exists('HEAD') || !exists('objects')) {
    throw new StoreError('not_a_store', `Not a store: ${reasonNotAStore(exists('.git'))}`)
  }
  checkHasNoLinks(disk, directory)
  if (exists('commondir')) throw unsupported('it is a linked working tree')
  if (textOf(disk, `${directory}/objects/info/alternates`).trim() !== '') {
    throw unsupported('it borrows objects from another repository; git repack -ad ends that')
  }
  checkConfig(parseGitConfig(textOf(disk, `${directory}/config`)))
  const isShallow = exists(shallowName)
  if ((isShallow && !mayBeShallow) || exists('info/grafts')) throw incomplete()
  if (isShallow) readShallow(disk, directory)
  if (textOf(disk, `${directory}/HEAD`) !== headText) {
    throw unsupported(`its HEAD is not on ${branchName}`)
  }
}

/**
 * Creates the store's own directory, which a clone lacks. Throws `not_a_store` if the store was
 * deleted while this handle had it open: nothing of it may come back.
 */
export async function makeOwnDirectory(context: GitFileLockContext): Promise<void> {
  if (context.disk.stat(context.directory) === undefined) {
    throw new StoreError('not_a_store', 'The directory of the store no longer exists')
  }
  await makeDurableDirectory(context.disk, context.ownDirectory)
}

/** The files of a repository for a handle of its own. Reads and writes none of them. */
export function repositoryFiles(disk: Disk, directory: string, random: Random): GitFileLockContext {
  const ownDirectory = `${directory}/${ownDirectoryName}`
  const identity = new LockIdentity(disk, ownDirectory, random)
  return { disk, directory, ownDirectory, identity, random, waitMs: gitLockWaitMs }
}

/** Adds the settings of a store that the config lacks. Under the writer lock. */
export function ensureSettings(context: GitFileLockContext): Promise<void> {
  return editUnderLock(context, 'config', withSettings)
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

/** The config with every missing setting of a store appended. */
function withSettings(text: string): string {
  const config = parseGitConfig(text)
  const lines = settings
    .filter(([section, key, value]) => {
      return findSetting(config, `${section}.${key}`.toLowerCase()) !== value
    })
    .map(([section, key, value]) => `[${section}]\n\t${key} = ${value}\n`)
  return lines.length === 0 ? text : `${text}\n${lines.join('')}`
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

/** Not read by a store; hosts put links there. */
const ignored = new Set(['hooks'])
/** Has thousands of files, which are opened one by one, and nothing below is a directory. */
const flat = /^objects\/(?:pack|[0-9a-f]{2})$/

/**
 * Throws `unsupported_repository` if a name that a store uses is a symbolic link. A file is never
 * opened through one (disk/disk.ts), but a directory that leads elsewhere would have caches written
 * and erased files removed there, in a directory of the user. The repository itself may lie behind
 * a link.
 */
export function checkHasNoLinks(disk: Disk, directory: string): void {
  const visit = (below: string): void => {
    for (const { name, isDirectory, isLink } of disk.entries(`${directory}/${below}`)) {
      const path = below === '' ? name : `${below}/${name}`
      if (ignored.has(path)) continue
      if (isLink) throw linkError(path)
      if (isDirectory && !flat.test(path)) visit(path)
    }
  }
  visit('')
}

function linkError(path: string): StoreError {
  const shown = /^[\w./-]{1,200}$/.test(path) ? path : 'a name in it'
  return new StoreError(
    'unsupported_repository',
    `The repository cannot be a store: ${shown} is a symbolic link, which may lead anywhere; ` +
      'replace it by what it stands for',
  )
}

const setupDirectories = ['objects', 'refs'] as const

export interface SetupFile {
  readonly name: 'HEAD' | 'config' | 'packed-refs' | (typeof setupDirectories)[number]
  readonly problem: string
}

/** Whether a directory is missing; there is nothing to save from it. */
export function isSetupDirectory({ name }: SetupFile): boolean {
  return setupDirectories.some((one) => one === name)
}

/** Which of these files are damaged, in a directory that certainly holds a store. */
export function damagedSetup(disk: Disk, directory: string): readonly SetupFile[] {
  const damaged: SetupFile[] = []
  if (textOf(disk, `${directory}/HEAD`) !== headText) {
    damaged.push({ name: 'HEAD', problem: 'it does not name refs/heads/main' })
  }
  const config = orUndefined(textOf(disk, `${directory}/config`))
  if (config === undefined || findSetting(config, 'core.bare') !== 'true') {
    damaged.push({ name: 'config', problem: 'it does not say that the repository is bare' })
  }
  const packed = textOf(disk, `${directory}/packed-refs`)
  if (packed !== readableLines(packed)) {
    damaged.push({ name: 'packed-refs', problem: 'it has lines that name no commit' })
  }
  for (const name of setupDirectories) {
    if (disk.stat(`${directory}/${name}`) === undefined) {
      damaged.push({ name, problem: 'the directory is missing' })
    }
  }
  return damaged
}

/** Durable when it resolves. The caller keeps a copy of the old file. */
export async function writeSetup(disk: Disk, directory: string, file: SetupFile): Promise<void> {
  const { name } = file
  if (name === 'HEAD') return atomicWrite(disk, `${directory}/HEAD`, utf8(headText))
  if (isSetupDirectory(file)) return makeDurableDirectory(disk, `${directory}/${name}`)
  if (name === 'packed-refs') {
    const lines = readableLines(textOf(disk, `${directory}/packed-refs`))
    return atomicWrite(disk, `${directory}/packed-refs`, Buffer.from(lines, 'latin1'))
  }
  const text = textOf(disk, `${directory}/config`)
  const kept = sectionsOf(text).filter((section) => orUndefined(section) !== undefined)
  const others = kept.filter((section) => !/^\s*\[core\]/i.test(section)).join('')
  // As Latin-1: sections may hold UTF-8.
  const bytes = Buffer.from(`${newConfig}${others}`, 'latin1')
  await atomicWrite(disk, `${directory}/config`, bytes)
}

/**
 * The lines that are valid by gitformat-packed-refs: a header, refs, and peeled tags below a ref.
 */
function readableLines(text: string): string {
  const kept: string[] = []
  let wasRef = false
  for (const [index, line] of text.split('\n').entries()) {
    const isRef = /^[0-9a-f]{40} refs\/\S+$/.test(line)
    const isPeeled = wasRef && /^\^[0-9a-f]{40}$/.test(line)
    if (isRef || isPeeled || (index === 0 && line.startsWith('# pack-refs '))) kept.push(line)
    wasRef = isRef
  }
  return kept.map((line) => `${line}\n`).join('')
}

function sectionsOf(text: string): readonly string[] {
  return text.split(/^(?=[ \t]*\[)/m)
}

function orUndefined(text: string): GitConfig | undefined {
  try {
    return parseGitConfig(text)
  } catch (error) {
    if (hasCode(error, 'unsupported_repository')) return undefined
    throw error
  }
}

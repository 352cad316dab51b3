// Binds directories to places of the store, and finds the mirrors that exist.

import { lstatSync, readFileSync, realpathSync } from 'node:fs'
import { basename, resolve, sep } from 'node:path'
import { toHex } from '../../bytes.ts'
import { systemRandom } from '../../crypto/random.ts'
import { systemDisk } from '../../disk/system-disk.ts'
import { StoreError } from '../../errors.ts'
import { attempt } from '../../home/files.ts'
import { HeldGrant } from '../../keys/held-grant.ts'
import type { Identity } from '../../keys/identity.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import { CommandError, type Context } from '../call/command.ts'
import type { Environment } from '../call/environment.ts'
import { inTurn } from '../setup/turns.ts'
import { getIdentity } from '../store/open-store.ts'
import { composedPath } from '../text/store-path.ts'
import { Folder } from './folder.ts'
import { makeInMemory } from './in-memory.ts'
import { type Mirror, MirrorFiles } from './mirror-state.ts'
import { MirrorRunner } from './runner.ts'
import { ruleOf } from './survey.ts'

/** The choices of a user; a missing one keeps the current value or the default. */
export interface MirrorChoice {
  readonly directory: string
  readonly at?: string | undefined
  readonly isInMemory?: boolean
  readonly isMarkdownOnly?: boolean
  readonly withConfiguration?: boolean
  readonly isReviewed?: boolean
  readonly hasHook?: boolean
}

export function mirrorFiles({ environment }: Context, storeId: string): MirrorFiles {
  const { storeDirectory: directory, stateDirectory } = environment
  return new MirrorFiles(storeId, { identity: ownerOf(environment), directory, stateDirectory })
}

/** A mirror in a sandbox is the holder's, as its clone is. */
function ownerOf(environment: Environment): Identity {
  const { grant } = environment
  return grant === undefined ? getIdentity(environment) : HeldGrant.of(grant.grant).identity
}

/** The mirror of a directory, or of one that is in it. */
function findMirror(mirrors: readonly Mirror[], typed: string): Mirror | undefined {
  const directory = realOf(typed)
  return mirrors.find((mirror) => mirror.directory === directory)
}

/** Throws `not_found`. */
export function getMirror(mirrors: readonly Mirror[], typed: string): Mirror {
  const found = findMirror(mirrors, typed)
  if (found !== undefined) return found
  throw new CommandError(
    'not_found',
    `The directory ${resolve(typed)} is not mirrored`,
    '`gitlocket mirror list` shows those that are',
  )
}

/** Binds a directory, or finds its mirror. One that was paused continues. */
export function bindMirror(
  context: Context,
  storeId: string,
  choice: MirrorChoice,
): Promise<Mirror> {
  const { environment } = context
  const directory = preparedDirectory(choice)
  return inTurn(environment, async () => {
    const files = mirrorFiles(context, storeId)
    const mirrors = files.list()
    const known = mirrors.find((mirror) => mirror.directory === directory)
    if (known !== undefined) {
      checkSamePlace(known, choice)
      const changed = { ...known, ...chosen(choice), isPaused: false }
      await files.writeList(mirrors.map((mirror) => (mirror === known ? changed : mirror)))
      return changed
    }
    checkApart(directory, [
      ...mirrors.map((mirror) => mirror.directory),
      environment.storeDirectory,
      environment.stateDirectory,
    ])
    checkUnmarked(directory)
    const mirror = newMirror(directory, choice)
    await files.writeList([...mirrors, mirror])
    return mirror
  })
}

/** Changes one mirror of the list, or removes it if `change` returns undefined. */
export function changeMirror(
  context: Context,
  storeId: string,
  id: string,
  change: (mirror: Mirror) => Mirror | undefined,
): Promise<void> {
  return inTurn(context.environment, async () => {
    const files = mirrorFiles(context, storeId)
    const changed = files.list().flatMap((mirror) => {
      const next = mirror.id === id ? change(mirror) : mirror
      return next === undefined ? [] : [next]
    })
    await files.writeList(changed)
  })
}

/**
 * Ends a mirror: files and memories remain, and nothing connects them. Returns false if the
 * directory keeps texts that could not be saved.
 */
export async function unbindMirror(
  context: Context,
  storeId: string,
  mirror: Mirror,
): Promise<boolean> {
  const { directory, id } = mirror
  await changeMirror(context, storeId, id, () => undefined)
  mirrorFiles(context, storeId).removeState(id)
  systemDisk.removeTree(`${context.environment.stateDirectory}/mirrors/${id}`)
  if (lstatSync(directory, { throwIfNoEntry: false }) === undefined) return true
  const parts = { directory, id, rule: ruleOf(mirror), disk: systemDisk, random: systemRandom }
  const folder = new Folder(parts)
  try {
    return folder.unmark()
  } finally {
    folder.close()
  }
}

export function runnerOf(context: Context, store: MemoryStore, mirror: Mirror): MirrorRunner {
  const { environment, clock } = context
  const { stateDirectory } = environment
  const identity = ownerOf(environment)
  const files = mirrorFiles(context, store.id)
  return new MirrorRunner({ store, identity, mirror, files, clock, stateDirectory })
}

/** Whether RAM may reach a disk. */
export function isSwapOn(): boolean {
  if (process.platform !== 'linux') return true
  try {
    return readFileSync('/proc/swaps', 'utf8').trim().split('\n').length > 1
  } catch {
    return true
  }
}

function newMirror(directory: string, choice: MirrorChoice): Mirror {
  const at = composedPath(choice.at ?? `/${basename(directory)}`)
  return {
    id: toHex(systemRandom(8)),
    directory,
    at: at === '/' ? '' : at,
    isPaused: false,
    isInMemory: choice.isInMemory ?? false,
    isMarkdownOnly: choice.isMarkdownOnly ?? false,
    withConfiguration: choice.withConfiguration ?? false,
    isReviewed: choice.isReviewed ?? false,
    hasHook: choice.hasHook ?? false,
  }
}

/** The choices that can change while a directory is bound. */
function chosen({ isReviewed, hasHook, withConfiguration }: MirrorChoice): Partial<Mirror> {
  return {
    ...(isReviewed === undefined ? {} : { isReviewed }),
    ...(hasHook === undefined ? {} : { hasHook }),
    ...(withConfiguration === undefined ? {} : { withConfiguration }),
  }
}

function preparedDirectory({ directory, isInMemory = false }: MirrorChoice): string {
  const path = resolve(directory)
  const problem = isInMemory ? makeInMemory(path) : undefined
  if (problem !== undefined) {
    const hint = 'Choose one below /dev/shm or $XDG_RUNTIME_DIR'
    throw new CommandError('invalid_input', `${path} is refused: ${problem}`, hint)
  }
  const found = attempt('examine a directory', path, () => {
    return lstatSync(realOf(path), { throwIfNoEntry: false })
  })
  if (found?.isDirectory() === true) return realOf(path)
  const what = found === undefined ? 'There is no directory' : 'There is no directory but a file'
  throw new CommandError(
    'invalid_input',
    `${what} at ${path}`,
    'Create it first, or name another one',
  )
}

/** The path without links, also if it does not exist. */
function realOf(typed: string): string {
  const path = resolve(typed)
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

function checkSamePlace({ at, directory }: Mirror, choice: MirrorChoice): void {
  if (choice.at === undefined) return
  const asked = composedPath(choice.at)
  if (asked === (at === '' ? '/' : at)) return
  throw new CommandError(
    'path_conflict',
    `The directory ${directory} is mirrored at ${at === '' ? '/' : at}`,
    `\`gitlocket mirror stop\` ends that; files and memories remain`,
  )
}

/** Two mirrors of one directory, such as those of two stores, would undo each other's deletions. */
function checkUnmarked(directory: string): void {
  const parts = { directory, id: '', rule: () => undefined, disk: systemDisk, random: systemRandom }
  const folder = new Folder(parts)
  try {
    if (folder.marker() === undefined) return
  } finally {
    folder.close()
  }
  throw new CommandError(
    'path_conflict',
    `The directory ${directory} is mirrored already, by another store or device`,
    '`gitlocket mirror stop` there ends that; if it no longer exists, remove .gitlocket-mirror ' +
      'from the directory',
  )
}

/** A directory in another one would be mirrored twice, and a store would mirror itself. */
function checkApart(directory: string, others: readonly string[]): void {
  for (const other of others.map(realOf)) {
    // The root has its separator already.
    const [a, b] = [directory, other].map((path) => (path.endsWith(sep) ? path : `${path}${sep}`))
    if (a === undefined || b === undefined || !(a.startsWith(b) || b.startsWith(a))) continue
    throw new StoreError(
      'path_conflict',
      `The directory ${directory} and ${other}, which is in use, contain one another`,
    )
  }
}

// Notices that a repository on this machine may have changed, without looking at it while it does
// not: a store by its journal and its branch, a remote at a path by its branch. Must not read what
// is there: the caller looks whether it was a change.

import { type FSWatcher, statSync, watch } from 'node:fs'
import { join } from 'node:path'
import { errnoOf } from '../../home/files.ts'
import { networkFileSystem } from './network-files.ts'

/** Names of files in a directory whose changes count. */
interface Watched {
  readonly directory: string
  readonly names: RegExp
}

/** A branch: its file, perhaps under the name of its lock, and the file of packed refs. */
function branchOf(repository: string): readonly Watched[] {
  return [
    { directory: join(repository, 'refs', 'heads'), names: /^main(?:\.lock)?$/ },
    { directory: repository, names: /^packed-refs(?:\.lock)?$/ },
  ]
}

/** Where a commit shows in a store. */
export function changesOfStore(directory: string): readonly Watched[] {
  const journal = { directory: join(directory, 'gitlocket'), names: /^journal-/ }
  return [journal, ...branchOf(directory)]
}

/** Where a push shows in a repository, with a working tree or without. */
export function changesOfRemote(path: string): readonly Watched[] {
  const inside = join(path, '.git')
  return branchOf(isDirectory(inside) ? inside : path)
}

export class WatchedPlace {
  readonly #find: () => readonly Watched[]
  readonly #onChange: () => void
  readonly #watchers: FSWatcher[] = []
  /** Which directories are watched. */
  #watched = ''
  #problem: string | undefined
  #isChanged = true

  /** `find` tells what to watch, now. `onChange` is called with every change. */
  constructor(find: () => readonly Watched[], onChange: () => void) {
    this.#find = find
    this.#onChange = onChange
  }

  /** Why changes cannot be noticed; undefined if they are. */
  get problem(): string | undefined {
    return this.#problem
  }

  /** Whether one was noticed and not taken. */
  get isChanged(): boolean {
    return this.#problem === undefined && this.#isChanged
  }

  /** Whether there may have been a change since the last call, as far as it is noticed. */
  takeChanged(): boolean {
    const isChanged = this.#isChanged
    this.#isChanged = false
    return isChanged
  }

  /** Watches the current directories, which may have been replaced. */
  renew(): void {
    try {
      const all = this.#find()
      const watched = all.map(({ directory }) => identityOf(directory)).join()
      if (watched === this.#watched && this.#problem === undefined) return
      this.close()
      for (const one of all) this.#watch(one)
      this.#watched = watched
      this.#problem = undefined
    } catch (error) {
      this.#fail(error)
    }
    this.#isChanged = true
  }

  close(): void {
    for (const watcher of this.#watchers.splice(0)) watcher.close()
    this.#watched = ''
  }

  #watch({ directory, names }: Watched): void {
    const network = networkFileSystem(directory)
    if (network !== undefined) throw new Error(network)
    const watcher = watch(directory, (_, name) => {
      // Without a name it may be any; the name of the directory itself shows that it was removed.
      if (name === null || names.test(name) || !isDirectory(directory)) this.#changed()
    })
    this.#watchers.push(watcher)
    watcher.on('error', (error) => {
      this.#fail(error)
      this.#changed()
    })
  }

  #fail(error: unknown): void {
    this.close()
    this.#problem = errnoOf(error) ?? (error instanceof Error ? error.message : String(error))
  }

  #changed(): void {
    this.#isChanged = true
    this.#onChange()
  }
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

/** Throws unless it is a directory. */
function identityOf(directory: string): string {
  const status = statSync(directory)
  if (!status.isDirectory()) throw new Error('no plain refs')
  return `${status.dev} ${status.ino}`
}

// The directory of a mirror: reads its files, and writes them so that no text of its user is lost,
// whatever other programs do at the same time. A file is replaced by moving it aside and giving its
// name to a new one, which fails if the name was taken in between; the old file is read once more
// before it is removed, since an editor may have written to it. No link is followed.
//
//   .gitlocket-mirror/marker                 the id of the mirror: without it, nothing was deleted
//   .gitlocket-mirror/.gitignore             keeps all of this out of a repository of the user
//   .gitlocket-mirror/new-<random>           a file before it has its name
//   .gitlocket-mirror/<step>-<hash>-<random>/<name>
//       a file that was moved aside, and the SHA-256 of the text that it was seen with. The step is
//       `replacing` before the new file has its name, then `replaced`; or `removed`.

import { chmodSync, lstatSync } from 'node:fs'
import { dirname } from 'node:path'
import { toHex, utf8 } from '../../bytes.ts'
import { sha256 } from '../../crypto/digest.ts'
import type { Random } from '../../crypto/random.ts'
import type { Disk } from '../../disk/disk.ts'
import { StoreError } from '../../errors.ts'
import { attempt, errnoOf } from '../../home/files.ts'
import { findTree, readInTree, type TreeRule } from '../import/tree.ts'
import { HeldDirectory, withParent } from '../machine/held-directory.ts'
import { isInRepository, removeEmpty } from '../machine/memory-files.ts'

export const ownName = '.gitlocket-mirror'
const MARKER = 'marker'
const MARKER_BYTES_MAX = 200
const IGNORE = '.gitignore'
const ALL = utf8('*\n')
const ASIDE = /^(replacing|replaced|removed)-([0-9a-f]{64})-[0-9a-f]+$/

export interface FolderParts {
  /** Absolute, without links. */
  readonly directory: string
  /** The id of the mirror, for the marker. */
  readonly id: string
  /** Leaves files and directories out by their names. */
  readonly rule: TreeRule
  readonly disk: Disk
  readonly random: Random
  /** For systems that do not show open files, and disks that do not know them. */
  readonly isByPath?: boolean
}

/** A regular file, as it was seen. */
export interface FoundFile {
  /** As the file system spells it, with `/` between segments. */
  readonly name: string
  /** Differs once the file was written, replaced or renamed. */
  readonly trace: string
  /** When that happened last, ms since 1970. */
  readonly changed: number
}

export interface FolderScan {
  readonly files: readonly FoundFile[]
  /** Names of what cannot be read, files or directories, each with a reason. */
  readonly blocked: ReadonlyMap<string, string>
}

/** A text that an editor has written to a file while it was replaced. */
export interface LateText {
  readonly name: string
  /** SHA-256 of the text that it was made of. */
  readonly madeOf: string
  readonly bytes: Uint8Array
}

export class Folder {
  readonly #parts: FolderParts
  /** Directories whose names have changed. */
  readonly #unsynced: Set<string> = new Set()
  #own: HeldDirectory | undefined

  constructor(parts: FolderParts) {
    this.#parts = parts
  }

  close(): void {
    this.#own?.close()
    this.#own = undefined
  }

  /** Whether the directory is the one that was filled before. */
  isMarked(): boolean {
    return this.marker() === this.#parts.id
  }

  /** The id of the mirror that has the directory; undefined if none has. */
  marker(): string | undefined {
    if (this.#findOwn() === undefined) return undefined
    const found = this.#parts.disk.readFile(this.#ownPlace(MARKER), MARKER_BYTES_MAX)
    const id = found === undefined ? '' : Buffer.from(found).toString('latin1').trim()
    return /^[0-9a-f]{16}$/.test(id) ? id : undefined
  }

  /** Durable. */
  async mark(): Promise<void> {
    const { directory, id, disk } = this.#parts
    if (this.#findOwn() === undefined) disk.makeDirectory(`${directory}/${ownName}`)
    disk.remove(this.#ownPlace(MARKER))
    await this.#write(this.#ownPlace(MARKER), utf8(`${id}\n`))
    await disk.syncDirectory(this.#ownPlace('.'))
    await disk.syncDirectory(directory)
  }

  /** Keeps all of this out of a repository of the user, if the directory is in one. */
  async ignore(): Promise<void> {
    const { directory, disk } = this.#parts
    const file = this.#ownPlace(IGNORE)
    if (disk.stat(file) === undefined && isInRepository(directory)) await this.#write(file, ALL)
  }

  /** Removes the marker. False if texts remain that were moved aside and could not be saved. */
  unmark(): boolean {
    const { directory, disk } = this.#parts
    if (!this.isMarked()) return true
    disk.remove(this.#ownPlace(MARKER))
    const rest = disk.list(this.#ownPlace('.'))
    if (rest.every((name) => name === IGNORE)) disk.remove(this.#ownPlace(IGNORE))
    this.close()
    return removeEmpty(`${directory}/${ownName}`)
  }

  /** Throws a storage code if the directory itself cannot be read. */
  async scan(signal?: AbortSignal): Promise<FolderScan> {
    const { directory, rule } = this.#parts
    const files: FoundFile[] = []
    const blocked = new Map<string, string>()
    const below = (path: string): string => path.slice(directory.length + 1)
    const found = await findTree(directory, ruleWithout(rule), signal, (name, place) => {
      const seen = attempt('examine a file', name, () => lookAt(place))
      if (seen !== undefined) files.push({ name, ...seen })
    })
    for (const { origin, reason } of [...found.leftOut, ...found.unsuitable]) {
      blocked.set(below(origin), reason)
    }
    return { files, blocked }
  }

  /** At most `limit` bytes and one more. Throws an `UnsuitableError`. */
  read(name: string, limit: number): Uint8Array {
    return readInTree(this.#parts.directory, name, limit)
  }

  /** How a file looks now; undefined if it does not exist. */
  look(name: string): Omit<FoundFile, 'name'> | undefined {
    return this.#inParent(name, (parent, last) => lookAt(parent.place(last)))
  }

  /**
   * Writes a file, which replaces the one that was seen with the SHA-256 `replaces`, or none.
   * Resolves to false, with nothing changed, if another program was faster. Durable after `settle`.
   */
  async put(name: string, bytes: Uint8Array, replaces: string | undefined): Promise<boolean> {
    const { disk } = this.#parts
    const made = this.#ownPlace(`new-${this.#unique()}`)
    await this.#write(made, bytes)
    try {
      const isDone = this.#inParent(
        name,
        (parent, last) => {
          if (replaces === undefined) return this.#giveName(made, parent.place(last))
          return this.#replace({ name, place: parent.place(last), made, replaces })
        },
        (place) => this.#makeDirectory(place),
      )
      return isDone === true
    } finally {
      disk.remove(made)
      this.#unsynced.add(dirname(name))
    }
  }

  /** Removes a file that was seen with this SHA-256. False if it does not exist. */
  remove(name: string, expected: string): boolean {
    const aside = this.#inParent(name, (parent, last) => {
      return this.#moveAside('removed', { name, place: parent.place(last), expected })
    })
    this.#unsynced.add(dirname(name))
    if (aside !== undefined) this.#noteAside(aside, name)
    return aside !== undefined
  }

  /** Makes all that was written durable. */
  async settle(): Promise<void> {
    const { disk, directory } = this.#parts
    for (const name of this.#unsynced) {
      try {
        await disk.syncDirectory(name === '.' ? directory : `${directory}/${name}`)
      } catch (error) {
        // Another program may have removed it.
        if (!(error instanceof StoreError)) throw error
      }
    }
    this.#unsynced.clear()
  }

  /**
   * Removes files that were moved aside. `save` gets a text that another program has written to one
   * since, and resolves to false to keep the file. After a crash a file gets its name back first.
   * Returns the names below the own directory that are kept.
   */
  async sweep(save: (late: LateText) => Promise<boolean>): Promise<readonly string[]> {
    const { disk } = this.#parts
    if (this.#findOwn() === undefined) return []
    const kept: string[] = []
    for (const entry of disk.list(this.#ownPlace('.'))) {
      if (entry.startsWith('new-')) disk.remove(this.#ownPlace(entry))
      const [, step = '', madeOf = ''] = ASIDE.exec(entry) ?? []
      if (step === '') continue
      const place = this.#ownPlace(entry)
      const found = findOnly(disk, place)
      if (found === 'several') kept.push(entry)
      else if (found === undefined) disk.removeTree(place)
      else {
        const { name } = found
        if (step === 'replacing') this.#giveBack(`${place}/${name}`, name)
        const bytes = disk.readFile(`${place}/${name}`) ?? new Uint8Array()
        const isLate = toHex(sha256(bytes)) !== madeOf
        if (isLate && !(await save({ name, madeOf, bytes }))) kept.push(`${entry}/${name}`)
        else disk.removeTree(place)
      }
    }
    return kept
  }

  /** Removes empty directories above a file that was removed. */
  prune(name: string): void {
    for (let at = dirname(name); at !== '.'; at = dirname(at)) {
      const isGone = this.#inParent(at, (parent, last) => {
        return removeEmpty(parent.place(last))
      })
      if (isGone !== true) return
      this.#unsynced.add(dirname(at))
    }
  }

  #replace(file: { name: string; place: string; made: string; replaces: string }): boolean {
    const { disk } = this.#parts
    const { name, place, made, replaces } = file
    keepMode(place, made)
    const aside = this.#moveAside('replacing', { name, place, expected: replaces })
    if (aside === undefined) return false
    const isOurs = this.#giveName(made, place)
    const done = aside.replace('replacing-', 'replaced-')
    disk.rename(this.#ownPlace(aside), this.#ownPlace(done))
    this.#noteAside(done, name)
    return isOurs
  }

  /** Returns the name of the directory that has it now; undefined if there is no file. */
  #moveAside(
    step: 'replacing' | 'removed',
    { name, place, expected }: { name: string; place: string; expected: string },
  ): string | undefined {
    const { disk } = this.#parts
    if (!isFile(place)) return undefined
    const aside = `${step}-${expected}-${this.#unique()}`
    const moved = this.#ownPlace(`${aside}/${name}`)
    disk.makeDirectory(dirname(moved))
    try {
      disk.rename(place, moved)
      if (isFile(moved)) return aside
      // A directory or a link has taken the place of the file since: it gets its name back.
      if (lookAt(place) === undefined) disk.rename(moved, place)
      return undefined
    } catch (error) {
      disk.removeTree(this.#ownPlace(aside))
      if (lookAt(place) === undefined) return undefined
      throw error
    }
  }

  /** Else a power failure could bring the old file back under its name. */
  #noteAside(aside: string, name: string): void {
    this.#unsynced.add(ownName)
    this.#unsynced.add(dirname(`${ownName}/${aside}/${name}`))
  }

  #giveBack(aside: string, name: string): void {
    this.#inParent(name, (parent, last) => this.#giveName(aside, parent.place(last)))
  }

  /** False if the name is taken. */
  #giveName(from: string, place: string): boolean {
    const { disk } = this.#parts
    try {
      return disk.link(from, place)
    } catch (error) {
      // Some file systems have no hard links.
      if (!(error instanceof StoreError) || error.code === 'storage_full') throw error
      if (lookAt(place) !== undefined) return false
      disk.rename(from, place)
      return true
    }
  }

  async #write(path: string, bytes: Uint8Array): Promise<void> {
    const { disk } = this.#parts
    const file = disk.open(path, 'wx')
    try {
      disk.write(file, bytes, 0)
      await disk.sync(file)
    } finally {
      disk.close(file)
    }
  }

  #makeDirectory(place: string): void {
    const { disk } = this.#parts
    if (disk.stat(place) === undefined) disk.makeDirectory(place)
  }

  #unique(): string {
    return toHex(this.#parts.random(8))
  }

  #ownPlace(name: string): string {
    const own = this.#findOwn()
    if (own !== undefined) return own.place(name)
    throw new StoreError('storage_failed', 'Another program removed the directory of the mirror')
  }

  /** Throws `storage_failed` if it is a link or a file. */
  #findOwn(): HeldDirectory | undefined {
    if (this.#own !== undefined) return this.#own
    const { directory, isByPath } = this.#parts
    const held = attempt('open a directory', directory, () => {
      return HeldDirectory.open(directory, isByPath)
    })
    try {
      this.#own = held.enter(ownName)
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return undefined
      attempt('open a directory', `${directory}/${ownName}`, () => {
        throw error
      })
    } finally {
      held.close()
    }
    return this.#own
  }

  /** Undefined if a directory above the file does not exist. */
  #inParent<T>(
    name: string,
    work: (parent: HeldDirectory, last: string) => T,
    make?: (place: string) => void,
  ): T | undefined {
    const { directory, isByPath } = this.#parts
    try {
      return withParent(directory, name, work, { isByPath, ...(make && { make }) })
    } catch (error) {
      if (errnoOf(error) === 'ENOENT' && make === undefined) return undefined
      return attempt('write a file', name, () => {
        throw error
      })
    }
  }
}

function ruleWithout(rule: TreeRule): TreeRule {
  return (name, isDirectory) => (name === ownName ? 'of the mirror' : rule(name, isDirectory))
}

function lookAt(place: string): Omit<FoundFile, 'name'> | undefined {
  const found = lstatSync(place, { bigint: true, throwIfNoEntry: false })
  if (found === undefined) return undefined
  const { ino, size, mtimeNs, ctimeNs, ctimeMs } = found
  return { trace: `${ino} ${size} ${mtimeNs} ${ctimeNs}`, changed: Number(ctimeMs) }
}

/** The new file gets the rights of the old one. */
function keepMode(place: string, made: string): void {
  const found = lstatSync(place, { throwIfNoEntry: false })
  if (found?.isFile() === true) chmodSync(made, found.mode & 0o777)
}

/** The only file in a tree, by its name below it; undefined if a crash came before it was moved. */
function findOnly(disk: Disk, tree: string): { readonly name: string } | 'several' | undefined {
  let name = ''
  for (;;) {
    const [only, ...others] = disk.entries(`${tree}/${name}`)
    if (only === undefined) return undefined
    if (others.length > 0 || only.isLink) return 'several'
    name = name === '' ? only.name : `${name}/${only.name}`
    if (!only.isDirectory) return isFile(`${tree}/${name}`) ? { name } : 'several'
  }
}

function isFile(place: string): boolean {
  return lstatSync(place, { throwIfNoEntry: false })?.isFile() === true
}

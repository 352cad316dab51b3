// Reads a tree of plain files that others may change at the same time. Links are not followed, even
// if a directory becomes one during the walk; pipes and devices are not opened; nothing is
// written, and on Linux not even the time of the last access to a file. Only links in the path that
// the user has named are followed.

import { isUtf8 } from 'node:buffer'
import { closeSync, constants, type Dirent, fstatSync, openSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { utf8Text } from '../../bytes.ts'
import { StoreError } from '../../errors.ts'
import { attempt, errnoOf, readUpTo, systemProblem } from '../../home/files.ts'
import { memoriesMax, pathSegmentsMax } from '../../limits.ts'
import { TimeSlice } from '../../time-slice.ts'
import { type FoundTexts, type LeftOutPart, UnsuitableError } from './source.ts'

/** A larger tree is no place of memories; the user may have named the root of a disk. */
const ENTRIES_MAX = 2 * memoriesMax

/** Where the system shows the open files of this process: files opened below appear there. */
const OPEN_FILES = process.platform === 'linux' ? '/proc/self/fd' : undefined

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants
/** Only the owner of a file may ask for it. */
const O_NOATIME = process.platform === 'linux' ? constants.O_NOATIME : 0

interface FoundFiles extends Omit<FoundTexts, 'candidates'> {
  /** Regular files, as paths relative to the root, with `/` between segments, sorted. */
  readonly files: readonly string[]
}

/** Why a file or a directory with this name is left out; undefined if it is not. */
export type TreeRule = (name: string, isDirectory: boolean) => string | undefined

/** Everything below a directory, whose names begin with `root` where it is reported. */
export async function findTree(
  root: string,
  rule: TreeRule,
  signal: AbortSignal | undefined,
): Promise<FoundFiles> {
  const walk = new Walk(root, rule, new TimeSlice(signal))
  const held = attempt('list a directory', root, () => openDirectory(root, 0))
  await walk.visit(held, '', 1).finally(() => held.close())
  const { files, leftOut, unsuitable } = walk
  return { files: files.toSorted(), leftOut: sorted(leftOut), unsuitable: sorted(unsuitable) }
}

/** At most `limit` bytes, and one more, of a file of the tree. Throws an `UnsuitableError`. */
export function readInTree(root: string, name: string, limit: number): Uint8Array {
  const segments = name.split('/')
  const last = segments.pop() ?? ''
  return suitably(() => {
    let held = openDirectory(root, 0)
    try {
      for (const segment of segments) {
        const next = openDirectory(held.place(segment), O_NOFOLLOW)
        held.close()
        held = next
      }
      return readRegular(held.place(last), O_NOFOLLOW, limit)
    } finally {
      held.close()
    }
  })
}

/** The same for a file that the user has named. */
export function readNamedFile(path: string, limit: number): Uint8Array {
  return suitably(() => readRegular(path, 0, limit))
}

/** An open directory, which remains the same one even if its path leads elsewhere. */
class HeldDirectory {
  readonly #file: number
  readonly #path: string

  constructor(file: number, path: string) {
    this.#file = file
    this.#path = path
  }

  place(name: string): string {
    return join(OPEN_FILES === undefined ? this.#path : `${OPEN_FILES}/${this.#file}`, name)
  }

  close(): void {
    closeSync(this.#file)
  }
}

function openDirectory(path: string, flags: number): HeldDirectory {
  return new HeldDirectory(openSync(path, O_RDONLY | O_DIRECTORY | flags), path)
}

class Walk {
  readonly files: string[] = []
  readonly leftOut: LeftOutPart[] = []
  readonly unsuitable: LeftOutPart[] = []
  readonly #root: string
  readonly #rule: TreeRule
  readonly #slice: TimeSlice
  #entries = 0

  constructor(root: string, rule: TreeRule, slice: TimeSlice) {
    this.#root = root
    this.#rule = rule
    this.#slice = slice
  }

  async visit(held: HeldDirectory, below: string, depth: number): Promise<void> {
    const options = { withFileTypes: true, encoding: 'buffer' } as const
    for (const entry of suitably(() => readdirSync(held.place('.'), options))) {
      if (this.#slice.isOver()) await this.#slice.next()
      this.#entries += 1
      if (this.#entries > ENTRIES_MAX) throw tooLarge()
      const name = `${below}${entry.name.toString()}`
      if (!isUtf8(entry.name)) this.#refuse(name, 'its name is not UTF-8')
      else await this.#take(held, entry, name, depth)
    }
  }

  async #take(
    held: HeldDirectory,
    entry: Dirent<Buffer>,
    name: string,
    depth: number,
  ): Promise<void> {
    const isDirectory = entry.isDirectory()
    const own = utf8Text(entry.name)
    const isSpecial = !isDirectory && !entry.isFile()
    const reason = entry.isSymbolicLink()
      ? 'symbolic link'
      : (this.#rule(own, isDirectory) ?? (isSpecial ? 'pipe, socket or device' : undefined))
    if (reason !== undefined) this.leftOut.push({ origin: join(this.#root, name), reason })
    else if (entry.isFile()) this.files.push(name)
    else if (depth > pathSegmentsMax) this.#refuse(name, 'too many directories above it')
    else await this.#enter(held, own, name, depth)
  }

  async #enter(held: HeldDirectory, own: string, name: string, depth: number): Promise<void> {
    let inner: HeldDirectory | undefined
    try {
      inner = suitably(() => openDirectory(held.place(own), O_NOFOLLOW))
      await this.visit(inner, `${name}/`, depth + 1)
    } catch (error) {
      if (!(error instanceof UnsuitableError)) throw error
      this.#refuse(name, error.message)
    } finally {
      inner?.close()
    }
  }

  #refuse(name: string, reason: string): void {
    this.unsuitable.push({ origin: join(this.#root, name), reason })
  }
}

function tooLarge(): StoreError {
  const problem = `The directory holds more than ${ENTRIES_MAX} entries`
  return new StoreError('invalid_input', `${problem}; name the one with the memories`)
}

/** Does not wait for the other end of a pipe that has replaced the file. */
function readRegular(place: string, flags: number, limit: number): Uint8Array {
  const file = openQuietly(place, O_RDONLY | O_NONBLOCK | flags)
  try {
    if (!fstatSync(file).isFile()) throw new UnsuitableError('not a regular file')
    return readUpTo(file, limit)
  } finally {
    closeSync(file)
  }
}

function openQuietly(place: string, flags: number): number {
  try {
    return openSync(place, flags | O_NOATIME)
  } catch (error) {
    if (errnoOf(error) !== 'EPERM') throw error
    return openSync(place, flags)
  }
}

/** Turns an error of the system into a reason. */
function suitably<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    const problem = systemProblem(error)
    throw problem === undefined ? error : new UnsuitableError(problem[1], error)
  }
}

function sorted(items: readonly LeftOutPart[]): readonly LeftOutPart[] {
  return items.toSorted((a, b) => (a.origin < b.origin ? -1 : 1))
}

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
import { HeldDirectory, withParent } from '../machine/held-directory.ts'
import { type FoundTexts, type LeftOutPart, UnsuitableError } from './source.ts'

/** A larger tree is no place of memories; the user may have named the root of a disk. */
const ENTRIES_MAX = 2 * memoriesMax

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants
/** Only the owner of a file may ask for it. */
const O_NOATIME = process.platform === 'linux' ? constants.O_NOATIME : 0

interface FoundFiles extends Omit<FoundTexts, 'candidates'> {
  /** Regular files, as paths relative to the root, with `/` between segments, sorted. */
  readonly files: readonly string[]
}

/** Why a file or a directory with this name is left out; undefined if it is not. */
export type TreeRule = (name: string, isDirectory: boolean) => string | undefined

/**
 * Everything below a directory, whose names begin with `root` where it is reported. `look` gets
 * each regular file, by its name and by a path that is valid for the time of the call.
 */
export async function findTree(
  root: string,
  rule: TreeRule,
  signal: AbortSignal | undefined,
  look: (name: string, place: string) => void = () => undefined,
): Promise<FoundFiles> {
  const walk = new Walk({ root, rule, look, slice: new TimeSlice(signal) })
  const held = attempt('list a directory', root, () => HeldDirectory.open(root))
  await walk.visit(held, '', 1).finally(() => held.close())
  const { files, leftOut, unsuitable } = walk
  return { files: files.toSorted(), leftOut: sorted(leftOut), unsuitable: sorted(unsuitable) }
}

/** At most `limit` bytes, and one more, of a file of the tree. Throws an `UnsuitableError`. */
export function readInTree(root: string, name: string, limit: number): Uint8Array {
  return suitably(() =>
    withParent(root, name, (parent, last) => readRegular(parent.place(last), O_NOFOLLOW, limit)),
  )
}

/** The same for a file that the user has named. */
export function readNamedFile(path: string | Buffer, limit: number): Uint8Array {
  return suitably(() => readRegular(path, 0, limit))
}

interface WalkParts {
  readonly root: string
  readonly rule: TreeRule
  readonly look: (name: string, place: string) => void
  readonly slice: TimeSlice
}

class Walk {
  readonly files: string[] = []
  readonly leftOut: LeftOutPart[] = []
  readonly unsuitable: LeftOutPart[] = []
  readonly #parts: WalkParts
  #entries = 0

  constructor(parts: WalkParts) {
    this.#parts = parts
  }

  async visit(held: HeldDirectory, below: string, depth: number): Promise<void> {
    const options = { withFileTypes: true, encoding: 'buffer' } as const
    const { slice } = this.#parts
    for (const entry of suitably(() => readdirSync(held.place('.'), options))) {
      if (slice.isOver()) await slice.next()
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
      : (this.#parts.rule(own, isDirectory) ?? (isSpecial ? 'pipe, socket or device' : undefined))
    if (reason !== undefined) this.leftOut.push({ origin: join(this.#parts.root, name), reason })
    else if (entry.isFile()) this.#takeFile(held.place(own), name)
    else if (depth > pathSegmentsMax) this.#refuse(name, 'too many directories above it')
    else await this.#enter(held, own, name, depth)
  }

  #takeFile(place: string, name: string): void {
    this.files.push(name)
    this.#parts.look(name, place)
  }

  async #enter(held: HeldDirectory, own: string, name: string, depth: number): Promise<void> {
    let inner: HeldDirectory | undefined
    try {
      inner = suitably(() => held.enter(own))
      await this.visit(inner, `${name}/`, depth + 1)
    } catch (error) {
      if (!(error instanceof UnsuitableError)) throw error
      this.#refuse(name, error.message)
    } finally {
      inner?.close()
    }
  }

  #refuse(name: string, reason: string): void {
    this.unsuitable.push({ origin: join(this.#parts.root, name), reason })
  }
}

function tooLarge(): StoreError {
  const problem = `The directory holds more than ${ENTRIES_MAX} entries`
  return new StoreError('invalid_input', `${problem}; name the one with the memories`)
}

/** Does not wait for the other end of a pipe that has replaced the file. */
function readRegular(place: string | Buffer, flags: number, limit: number): Uint8Array {
  const file = openQuietly(place, O_RDONLY | O_NONBLOCK | flags)
  try {
    if (!fstatSync(file).isFile()) throw new UnsuitableError('not a regular file')
    return readUpTo(file, limit)
  } finally {
    closeSync(file)
  }
}

function openQuietly(place: string | Buffer, flags: number): number {
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

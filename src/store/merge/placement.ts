// Moves memories so that no path is both a file and a directory, or two files: the older memories
// keep their paths, and fixed ones before these; another one gets a free path that depends on ids
// alone. Must not change contents.

import { formatId } from '../../format/id.ts'
import { parentPaths } from '../../format/path.ts'
import { pathBytesMax } from '../../limits.ts'
import { Bytes } from '../../platform/bytes.ts'
import { byPrecedence, type Draft } from './draft.ts'
import type { MergeInput } from './merge-input.ts'

/**
 * Afterwards no live draft is at or above the path of another. Only fixed drafts may have the paths
 * of others before.
 */
export function placeApart(input: MergeInput, drafts: readonly Draft[]): void {
  const places = new Places()
  // Unchanged memories cannot collide: each path of a draft existed on a side that has them too.
  for (const draft of drafts.filter(({ isLive }) => isLive).toSorted(byPrecedence)) {
    const file = places.findFile(draft)
    if (file !== undefined) {
      draft.path = findFreePath(input, places, file, draft)
      draft.outcomes.push('moved_aside')
    }
    places.add(draft)
  }
}

class Places {
  readonly #files: Map<string, Draft> = new Map()
  readonly #directories: Set<string> = new Set()

  add(draft: Draft): void {
    this.#files.set(draft.path, draft)
    for (const above of parentPaths(draft.path)) this.#directories.add(above)
  }

  /**
   * The draft that would be a file at the path of a directory or of another file: one placed
   * before, or this one.
   */
  findFile(draft: Draft): Draft | undefined {
    for (const above of parentPaths(draft.path)) {
      const file = this.#files.get(above)
      if (file !== undefined) return file
    }
    const { path } = draft
    return this.#directories.has(path) || this.#files.has(path) ? draft : undefined
  }

  isFree(path: string): boolean {
    if (this.#files.has(path) || this.#directories.has(path)) return false
    return parentPaths(path).every((above) => !this.#files.has(above))
  }
}

function findFreePath(input: MergeInput, places: Places, file: Draft, draft: Draft): string {
  const fallback = `/aside-${digitsOf(draft)}`
  const isFree = (path: string): boolean => {
    const fits = Bytes.byteLength(path) <= pathBytesMax
    return fits && places.isFree(path) && !input.isOccupied(path)
  }
  const free = [...pathsBeside(file, draft), fallback].find(isFree)
  if (free !== undefined) return free
  for (let count = 2; ; count += 1) {
    const path = `${fallback}-${count}`
    if (isFree(path)) return path
  }
}

/** Of the 26 digits of an id, enough to distinguish the memories of one name. */
const SHORT_ID_DIGITS = 8

/**
 * A file `/a.md` becomes `/a.aside-….md`. If the file is kept, `/a.md/b` becomes `/a.md.files-…/b`,
 * to keep the memories of a directory together.
 */
function pathsBeside(file: Draft, draft: Draft): readonly string[] {
  if (file === draft) return pathsAside(file.path, file.memoryId)
  const id = digitsOf(file)
  return [id.slice(0, SHORT_ID_DIGITS), id].map((digits) => {
    return `${file.path}.files-${digits}${draft.path.slice(file.path.length)}`
  })
}

/** Paths for a memory that cannot have its own. */
export function pathsAside(path: string, memoryId: string): readonly string[] {
  const id = digitsOf({ memoryId })
  return [id.slice(0, SHORT_ID_DIGITS), id].map((digits) => withSuffix(path, `.aside-${digits}`))
}

function digitsOf({ memoryId }: Pick<Draft, 'memoryId'>): string {
  return formatId('memory', memoryId).slice('mem_'.length)
}

/** Inserts a suffix before the extension, if the name has one. */
function withSuffix(path: string, suffix: string): string {
  const name = path.lastIndexOf('/') + 1
  const dot = path.lastIndexOf('.')
  const end = dot > name ? dot : path.length
  return path.slice(0, end) + suffix + path.slice(end)
}

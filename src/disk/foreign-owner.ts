// Whether a place belongs to another user than root, while root is at work: files that root leaves
// there can be neither read nor written by that user. Root is refused before anything is written,
// rather than made to give files away in directories whose user may plant links.

import { type Stats, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { geteuid } from 'node:process'
import { StoreError } from '../errors.ts'

/** The first of the places that root would leave files in for another user. Places are absolute. */
export function findForeignPlace(
  ...places: readonly string[]
): { readonly place: string; readonly uid: number } | undefined {
  if (geteuid?.() !== 0) return undefined
  return places.map((place) => ({ place, uid: ownerOf(place) })).find(({ uid }) => uid !== 0)
}

/** Throws `storage_denied` if there is such a place. */
export function refuseForeignRoot(...places: readonly string[]): void {
  const found = findForeignPlace(...places)
  if (found === undefined) return
  throw new StoreError('storage_denied', `${foreignSentence}: run this as user ${found.uid}`)
}

export const foreignSentence: string =
  'The place belongs to another user, who could not use what root writes there'

/** Of the place, or of the nearest directory above it that exists. */
function ownerOf(place: string): number {
  const found = findStatus(place)
  if (found !== undefined) return found.uid
  return dirname(place) === place ? 0 : ownerOf(dirname(place))
}

/** Undefined too for what lies below a file. */
function findStatus(path: string): Stats | undefined {
  try {
    return statSync(path)
  } catch {
    return undefined
  }
}

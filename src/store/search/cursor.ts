// Cursors of searches: the place of the last hit of a page, bound to the query. They
// hold nothing that the caller has not seen in that hit: of its path only the part below the
// searched one, since the caller must not learn the part above.

import { toHex, utf8 } from '../../bytes.ts'
import { hash256 } from '../../crypto/digest.ts'
import { StoreError } from '../../errors.ts'
import type { SearchQuery } from './search-query.ts'
import type { HitPlace } from './selection.ts'

const DIGEST_BYTES = 8

/** What decides which hits there are and in what order, in a few digits. */
export function digestOf(query: SearchQuery): string {
  const { prefix = true, fuzzy = false, regex = false, path = '/', allVersions = false } = query
  const asked = [query.query, prefix, fuzzy, regex, path, query.at ?? null, allVersions]
  return toHex(hash256(utf8(JSON.stringify(asked))).subarray(0, DIGEST_BYTES))
}

/** `searched` is the path that the query searches. */
export function encodeCursor(
  digest: string,
  searched: string,
  { score, path, versionId }: HitPlace,
): string {
  const below = path.slice(above(searched).length)
  return Buffer.from(JSON.stringify([digest, score, below, versionId])).toString('base64url')
}

/** Throws `invalid_input` for a cursor of another query, and for anything else. */
export function decodeCursor(digest: string, searched: string, cursor: string): HitPlace {
  const [of, score, below, versionId, ...others] = parts(cursor)
  const fits =
    of === digest &&
    typeof score === 'number' &&
    typeof below === 'string' &&
    typeof versionId === 'string' &&
    others.length === 0
  if (fits) return { score, path: above(searched) + below, versionId }
  throw new StoreError('invalid_input', 'The cursor belongs to another query')
}

function above(searched: string): string {
  return searched === '/' ? '' : searched
}

function parts(cursor: string): readonly unknown[] {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    return Array.isArray(parsed) ? parsed : []
  } catch {
    return []
  }
}

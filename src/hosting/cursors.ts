// Cursors of lists: sealed under this identity's key and bound to the list, so that no one makes
// one, reads one, or takes it to another list (Memory Stores API §4.2).

import { toHex, utf8, utf8Text } from '../bytes.ts'
import { hash256 } from '../crypto/digest.ts'
import { StoreError } from '../errors.ts'
import {
  type CacheOwner,
  type CachePlace,
  openCache,
  sealCache,
  untilPadding,
} from '../store/local/sealed-cache.ts'

/** Opaque cursors, which only this server can make and which survive its restart. */
export interface Cursors {
  /** `page_…`. `list` names the list and its filters: no other list takes the cursor. */
  seal(list: string, after: string): string
  /** The value of a sealed cursor. Throws `invalid_input` for any other text. */
  open(list: string, cursor: string): string
}

const PREFIX = 'page_'
const place: CachePlace = { path: '', role: 'cursor', generation: 0 }

export function createCursors(owner: CacheOwner): Cursors {
  // The list stands where the store id does, so that the seal fails for another list.
  const of = (list: string): CacheOwner => {
    return { ...owner, storeId: toHex(hash256(utf8(list)).subarray(0, 16)) }
  }
  return {
    seal(list, after) {
      const sealed = sealCache(of(list), place, utf8(after))
      return PREFIX + Buffer.from(sealed).toString('base64url')
    },
    open(list, cursor) {
      const bytes = decode(cursor)
      if (bytes === undefined) throw unknownCursor()
      try {
        return utf8Text(untilPadding(openCache(of(list), place, bytes)))
      } catch {
        throw unknownCursor()
      }
    },
  }
}

/** Of canonical text only: no two cursors mean the same. */
function decode(cursor: string): Uint8Array | undefined {
  if (!cursor.startsWith(PREFIX)) return undefined
  const text = cursor.slice(PREFIX.length)
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? new Uint8Array(bytes) : undefined
}

function unknownCursor(): StoreError {
  return new StoreError('invalid_input', 'The page must be the next_page of this list', {
    details: { parameter: 'page' },
  })
}

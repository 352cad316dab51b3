// FORMAT §5.2: the grammar of paths as readers check it: refused and never repaired. NFC and
// assigned characters are for writers to see to.

import { utf8 } from './bytes.ts'
import { hasForbidden, isWellFormed } from './characters.ts'
import { ensure, type Refusal } from './refusal.ts'

const segmentsMax = 20
const bytesMax = 1024

/** The path if the grammar allows it; else refuses with `kind`. */
export function checkPath(path: string, kind: Refusal): string {
  ensure(path.startsWith('/'), kind, 'A path starts with a slash')
  ensure(utf8(path).length <= bytesMax, kind, 'A path has at most 1,024 bytes')
  ensure(isWellFormed(path), kind, 'A path is well-formed Unicode')
  ensure(!hasForbidden(path), kind, 'A path has a forbidden character')
  const segments = path.slice(1).split('/')
  ensure(segments.length <= segmentsMax, kind, 'A path has at most 20 segments')
  for (const segment of segments) {
    ensure(!['', '.', '..'].includes(segment), kind, 'A segment is empty, `.` or `..`')
  }
  ensure(path !== '/.anthropic-memory-store', kind, 'This path is reserved')
  return path
}

/** Refuses with `row_path_conflict` if one of the paths lies at or above another, byte for byte. */
export function checkDisjoint(paths: readonly string[]): void {
  const all = new Set(paths)
  ensure(all.size === paths.length, 'row_path_conflict', 'Two memories have one path')
  for (const path of paths) {
    for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
      ensure(!all.has(path.slice(0, end)), 'row_path_conflict', 'A memory lies above another')
    }
  }
}

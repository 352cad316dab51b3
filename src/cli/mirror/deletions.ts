// Which deletions of files become deletions of memories. A missing file may be one that is being
// replaced, and many missing files may be a disk that is not mounted or a mistake: a file must be
// missing twice, and more than a share of all files waits for the user.

import type { MirrorState } from './mirror-state.ts'
import type { MirroredMemory } from './plan.ts'

/** Deletions within ten minutes that need no question: this number, or this share of all files. */
const FREE = 10
const SHARE = 0.2
const PERIOD_MS = 600_000

export interface DeletionParts {
  readonly state: MirrorState
  /** Since when files are missing; kept from one pass to the next. */
  readonly missing: Map<string, number>
  readonly now: number
  readonly settleMs: number
  readonly isConfirmed: boolean
  /** Whether any file that was mirrored is left. */
  readonly hasFiles: boolean
}

export interface Deletions {
  /** To carry out now. */
  readonly paths: readonly string[]
  /** For the user to confirm. */
  readonly held: readonly string[]
  /** Whether some must be missed for longer first. */
  readonly isWaiting: boolean
}

export function planDeletions(wanted: readonly MirroredMemory[], parts: DeletionParts): Deletions {
  const { state, missing, now, settleMs, isConfirmed, hasFiles } = parts
  const paths = wanted.map(({ path }) => path)
  const absent = new Set(paths)
  for (const path of missing.keys()) if (!absent.has(path)) missing.delete(path)
  // The clock may have been put back since.
  for (const path of paths) missing.set(path, Math.min(missing.get(path) ?? now, now))
  const ripe = paths.filter((path) => now - (missing.get(path) ?? now) >= settleMs)
  const isWaiting = ripe.length < paths.length
  state.deletions = state.deletions
    .map(([time, count]) => [Math.min(time, now), count] as const)
    .filter(([time]) => now - time < PERIOD_MS)
  const lately = state.deletions.reduce((sum, [, count]) => sum + count, 0)
  const most = Math.max(FREE, Math.ceil((state.agreed.size + lately) * SHARE))
  const isFree = hasFiles && lately + ripe.length <= most
  if (isConfirmed || isFree) return { paths: ripe, held: [], isWaiting }
  return { paths: [], held: ripe, isWaiting }
}

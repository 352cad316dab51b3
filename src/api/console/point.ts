// The moment that a question is of.

import type { Point } from '../../store/history/points.ts'

/** Undefined for now. */
export function pointOf(commit: string | undefined): Point | undefined {
  return commit === undefined ? undefined : { commit }
}

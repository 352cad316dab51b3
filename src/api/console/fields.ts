// The fields of questions. An input with any other field is refused: the page is of the same build.

import { z } from 'zod'
import type { Point } from '../../store/history/points.ts'
import type { FieldsOf } from '../schemas.ts'

/** Ids, names and paths: their rules are those of the store. */
export const short = z.string().max(4096)
export const commit = z.string().regex(/^[0-9a-f]{7,40}$/)
export const hash = z.string().regex(/^[0-9a-f]{64}$/)
/** Ms since 1970. */
export const time = z.number()

/** Ids, names or paths, at most this many. */
export function listOf(most: number): z.ZodType<readonly string[]> {
  return z.array(short).max(most)
}

/** A moment, by its commit; now, if left out. */
export const atField = { at: commit.optional() }

/** Undefined for now. */
export function pointOf(at: string | undefined): Point | undefined {
  return at === undefined ? undefined : { commit: at }
}

export const reasonField = { reason: short.optional() }

const ROWS_MAX = 1000

/** `after` is the `nextPage` of the page before. */
export const pageFields = {
  after: short.optional(),
  limit: z.int().min(1).max(ROWS_MAX).optional(),
}

const ROWS_DEFAULT = 100

export type PageInput = FieldsOf<typeof pageFields>

export function limitOf({ limit = ROWS_DEFAULT }: Pick<PageInput, 'limit'>): number {
  return limit
}

export const nothing: z.ZodType<object> = z.strictObject({})

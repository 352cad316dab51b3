// The fields of questions. An input with any other field is refused: the page is of the same build.

import { z } from 'zod'
import type { PageInput } from './question.ts'

/** Ids, names and paths: their rules are those of the store. */
export const short: z.ZodString = z.string().max(4096)
export const commit: z.ZodString = z.string().regex(/^[0-9a-f]{7,40}$/)
export const hash: z.ZodString = z.string().regex(/^[0-9a-f]{64}$/)
/** Ms since 1970. */
export const time: z.ZodNumber = z.number()

type Optional<Field extends z.ZodType> = z.ZodOptional<Field>

/** A moment; now, if left out. */
export const atField: { readonly at: Optional<z.ZodString> } = { at: commit.optional() }

export const reasonField: { readonly reason: Optional<z.ZodString> } = { reason: short.optional() }

const ROWS_MAX = 1000

export const pageFields: {
  readonly after: Optional<z.ZodString>
  readonly limit: Optional<z.ZodInt>
} = {
  after: short.optional(),
  limit: z.int().min(1).max(ROWS_MAX).optional(),
}

const ROWS_DEFAULT = 100

export function limitOf({ limit = ROWS_DEFAULT }: PageInput): number {
  return limit
}

export const nothing: z.ZodType<object> = z.strictObject({})

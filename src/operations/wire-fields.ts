// The fields that inputs of the Memory Stores API have in common (§4): views, limits, times.

import { z } from 'zod'
import { findId } from '../format/id.ts'
import type { Cursors } from '../hosting/cursors.ts'
import type { Page } from '../page.ts'
import type { Point } from '../store/history/points.ts'
import type { FieldsOf } from './schemas.ts'
import { pageJson, type Wire } from './wire.ts'

const LIMIT_DEFAULT = 20
const LIMIT_MAX = 100

export function idField(what: string): z.ZodString {
  const expected = `a string, the id of ${what}`
  return z.string({ error: expected }).describe(expected)
}

export function viewField(): z.ZodOptional<z.ZodEnum<{ basic: 'basic'; full: 'full' }>> {
  return z.enum(['basic', 'full'], { error: 'basic or full' }).optional()
}

/** 64 lower-case hex digits. */
export function hashField(): z.ZodString {
  const expected = 'a SHA-256 as 64 lower-case hexadecimal digits'
  return z.string({ error: expected }).regex(/^[0-9a-f]{64}$/, { error: expected })
}

export const pageFields = {
  limit: limitField(),
  page: cursorField().optional(),
}

/** Inclusive, ms since 1970. */
export const timeFields = {
  'created_at[gte]': timeField().optional(),
  'created_at[lte]': timeField().optional(),
}

export type View = z.infer<ReturnType<typeof viewField>>
export type PageInput = FieldsOf<typeof pageFields>

function limitField(): z.ZodType<number> {
  const expected = `an integer from 1 to ${LIMIT_MAX}`
  return z
    .int({ error: expected })
    .min(1, { error: expected })
    .max(LIMIT_MAX, { error: expected })
    .describe(expected)
    .default(LIMIT_DEFAULT)
}

function cursorField(): z.ZodString {
  const expected = 'the next_page of the page before'
  return z.string({ error: expected }).describe(expected)
}

function timeField(): z.ZodType<number> {
  const expected = 'a time as in RFC 3339, such as 2026-01-31T12:00:00Z'
  return z.string({ error: expected }).transform((text, context) => {
    const time = findTime(text)
    if (time !== undefined) return time
    context.addIssue({ code: 'custom', message: expected })
    return z.NEVER
  })
}

/** A time, or a version: the state right after it was written. */
export function pointField(): z.ZodType<Point> {
  const expected =
    'the id of a version, memver_…, or a time as in RFC 3339, such as 2026-01-31T12:00:00Z'
  const point = z.string({ error: expected }).transform((text, context): Point => {
    if (findId('version', text) !== undefined) return { versionId: text }
    const time = findTime(text)
    if (time !== undefined) return { time }
    context.addIssue({ code: 'custom', message: expected })
    return z.NEVER
  })
  return point.describe(expected)
}

const RFC_3339 = new RegExp(
  String.raw`^(\d{4}-\d\d-(\d\d))T((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d)(?:\.(\d+))?` +
    String.raw`(Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$`,
  'i',
)

/**
 * Milliseconds since 1970; finer parts are cut off, as in the times that are returned. The plus
 * sign of an offset is read as a space if the client did not encode it.
 */
function findTime(text: string): number | undefined {
  const found = RFC_3339.exec(text.replace(/ (?=\d\d:\d\d$)/, '+'))
  const [match, date = '', day, time = '', fraction = '', offset = ''] = found ?? []
  if (match === undefined || new Date(date).getUTCDate() !== Number(day)) return undefined
  const milliseconds = fraction.slice(0, 3).padEnd(3, '0')
  return Date.parse(`${date}T${time}.${milliseconds}${offset.toUpperCase()}`)
}

export interface WireList<T> {
  /** The name of the list, and every parameter that selects its items. */
  readonly list: readonly unknown[]
  readonly toWire: (item: T) => Wire
  /** Gets the cursor of the list itself. */
  readonly read: (page: string | undefined) => Promise<Page<T>>
}

/** Throws `invalid_input` for a cursor of another list. */
export async function readPage<T>(
  cursors: Cursors,
  page: string | undefined,
  { list, toWire, read }: WireList<T>,
): Promise<Wire> {
  const name = JSON.stringify(list)
  const { data, nextPage } = await read(page === undefined ? undefined : cursors.open(name, page))
  return pageJson(
    data.map(toWire),
    nextPage === undefined ? undefined : cursors.seal(name, nextPage),
  )
}

export const emptyPage: Page<never> = { data: [], nextPage: undefined }

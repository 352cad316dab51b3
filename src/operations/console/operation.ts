// What the questions of the console have in common: their context and their fields. They decide
// nothing that `MemoryStore` decides; they combine its answers for a screen. An input with any
// other field is refused: the page is of the same build.

import { z } from 'zod'
import type { WorkOptions } from '../../async.ts'
import type { Clock } from '../../clock.ts'
import type { Point } from '../../store/history/points.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import type { AuditReport } from '../../store/report/audit-report.ts'
import type { StoreWriter } from '../../store/store-writer.ts'
import type { SyncOptions } from '../../store/sync/report.ts'
import type { Access, OperationDefinition } from '../operation.ts'
import type { FieldsOf } from '../schemas.ts'

/** The merges that the user of this device has reviewed: a note, no part of the store. */
export interface SeenMerges {
  /** Version ids, `memver_…`. */
  readonly read: () => ReadonlySet<string>
  readonly mark: (versionIds: readonly string[]) => void
}

/** A report as a page that needs no other file, and its signature by this device. */
export interface SignedReport {
  readonly html: string
  readonly signature: string
}

export type SignReport = (report: AuditReport) => SignedReport

export interface ConsoleContext {
  readonly store: MemoryStore
  /** Writes in the name of the user of this console, with the reason of one change. */
  readonly writer: (reason?: string) => StoreWriter
  readonly access: Access
  readonly seen: SeenMerges
  /** How this machine may talk to remotes. */
  readonly remoteAccess: NonNullable<SyncOptions['access']>
  /** As of `findResidue`, for proofs that a text is erased. */
  readonly textsOutside: () => readonly string[]
  readonly clock: Clock
  /** Makes a page of a report, and signs it as this device. */
  readonly sign: SignReport
  /** Belongs to the request: its signal is aborted if the page no longer waits. */
  readonly work: WorkOptions
}

type Input<Fields extends z.ZodRawShape> = z.infer<z.ZodObject<Fields, z.core.$strict>>

type Reading<Context> = <Fields extends z.ZodRawShape, Result>(
  fields: Fields,
  run: (context: Context, input: Input<Fields>) => Promise<Result>,
) => OperationDefinition<Input<Fields>, Result, Context>

/** `name` is for a refusal: `the deletion of memories`. */
type Changing = <Fields extends z.ZodRawShape, Result>(
  name: string,
  fields: Fields,
  run: (context: ConsoleContext, input: Input<Fields>) => Promise<Result>,
) => OperationDefinition<Input<Fields>, Result, ConsoleContext>

/** Defines questions that change nothing. No access refuses them. */
export function readingIn<Context>(): Reading<Context> {
  return (fields, run) => ({
    name: 'a question',
    effect: 'read',
    input: z.strictObject(fields),
    run,
  })
}

export const reading = readingIn<ConsoleContext>()

export const writing: Changing = (name, fields, run) => {
  return { name, effect: 'write', input: z.strictObject(fields), run }
}

export const managing: Changing = (name, fields, run) => {
  return { name, effect: 'manage', input: z.strictObject(fields), run }
}

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

/** The commit of a point of the past; now, if left out. */
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

export type ListInput = FieldsOf<typeof pageFields>

export function limitOf({ limit = ROWS_DEFAULT }: Pick<ListInput, 'limit'>): number {
  return limit
}

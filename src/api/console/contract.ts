// What the page of the console may ask, by name, and what it is answered: JSON, between one version
// of the program and itself. Types alone: the page is checked against them too. Addresses of the
// page hold ids, so what names something here takes ids where it can.

import type { AuditReport } from '../../store/report/audit-report.ts'
import type { VerifyReport } from '../../store/store-report.ts'
import type { SyncReport } from '../../store/sync/report.ts'
import type { CareApi } from './contract-care.ts'
import type { HistoryApi } from './contract-history.ts'
import type { MemoriesApi } from './contract-memories.ts'
import type { RedactionApi } from './contract-redaction.ts'

export type { AuditReport, SyncReport, VerifyReport }
export type * from './contract-care.ts'
export type * from './contract-history.ts'
export type * from './contract-memories.ts'
export type * from './contract-redaction.ts'
export type * from './question.ts'

export interface ConsoleApi extends MemoriesApi, HistoryApi, RedactionApi, CareApi {}

export type QuestionName = keyof ConsoleApi
export type InputOf<Name extends QuestionName> = ConsoleApi[Name]['input']
export type ResultOf<Name extends QuestionName> = ConsoleApi[Name]['result']

/** The lines of an answer: any number of the first kind, then one of the others. */
export type AnswerLine =
  | { readonly progress: { readonly done: number; readonly total: number } }
  | { readonly result: unknown }
  | { readonly error: AskError }

/** Of a StoreError: no text of a memory, no key. */
export interface AskError {
  readonly code: string
  readonly message: string
  /** What it advises, if docs/ERRORS.md has something. */
  readonly advice?: string | undefined
  /** Of a conflict: the memory in the way. */
  readonly memoryId?: string | undefined
  readonly path?: string | undefined
}

/** A line of the stream of events: no text of a memory. */
export type ConsoleEvent =
  /** The first one: how many changes the console has seen so far. */
  | { readonly type: 'ready'; readonly changes: number }
  | {
      readonly type: 'version'
      readonly operation: 'created' | 'modified' | 'deleted'
      readonly memoryId: string
      readonly versionId: string
      readonly path?: string | undefined
    }
  /** Everything may have changed, as after a redaction: what is shown must be asked for again. */
  | { readonly type: 'resync' }
  /** Sent now and then, so that a page notices that its console is gone. */
  | { readonly type: 'alive' }
  | { readonly type: 'locked' }

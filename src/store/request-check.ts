// What the types say and plain JavaScript may get wrong: the shape of a request. What its values
// mean is checked where they are used. Must not change what it checks.

import { refuseForeignRoot } from '../disk/foreign-owner.ts'
import { StoreError } from '../errors.ts'
import { resolve } from '../platform/paths.ts'
import type { TrailPosition } from './audit/new-entries.ts'
import type { BlameOptions } from './history/blame.ts'
import type { Point } from './history/points.ts'
import type { RedactionRequest } from './redaction/redaction-plan.ts'
import type { ReportOptions } from './report/audit-report.ts'
import type { RestoreRequest, RollbackRequest } from './revert/restore.ts'
import type { SearchQuery } from './search/search-query.ts'
import type { StorePlaces } from './session/open-options.ts'

/** An object of any kind; `what` begins the sentence. Throws `invalid_input`. */
export function checkObject<T>(value: T, what: string): T {
  if (isObject(value)) return value
  throw invalid(`${what} must be an object`)
}

/** The options of a call. Throws `invalid_input`. */
export function checkOptions<T>(options: T): T {
  return checkObject(options, 'The options')
}

/** A string; `what` begins the sentence. Throws `invalid_input`. */
export function checkText(value: string, what: string): string {
  if (typeof value === 'string') return value
  throw invalid(`${what} must be a string`)
}

/** Ids of devices. Throws `invalid_input`. */
export function checkDeviceIds(deviceIds: readonly string[]): readonly string[] {
  if (Array.isArray(deviceIds)) return deviceIds.map((id: string) => checkText(id, 'A device id'))
  throw invalid('Device ids must be a list')
}

/** Throws `invalid_input`. */
export function checkReport(options: ReportOptions): ReportOptions {
  const { since = 0, until = 0, certificates = [] } = checkOptions(options)
  if (![since, until].every(isTime)) throw invalid('A time must be a number of ms')
  if (!Array.isArray(certificates)) throw invalid('Certificates must be a list')
  for (const text of certificates) checkText(text, 'A certificate')
  return options
}

/** A record of the trail. Throws `invalid_input`. */
export function checkTrailPosition(position: TrailPosition): void {
  const { height, record } = checkObject(position, 'A position')
  const isRight = Number.isSafeInteger(height) && height >= 0 && /^[0-9a-f]{64}$/.test(record)
  if (!isRight) throw invalid('A position must have a height and the hash of a record')
}

/** Which versions to redact. Throws `invalid_input`. */
export function checkRedaction(request: RedactionRequest): RedactionRequest {
  checkObject(checkObject(request, 'A redaction').select, 'What a redaction selects')
  return request
}

/** Where a store lies and who opens it. Throws `invalid_input`, or `storage_denied` for root. */
export function checkPlaces<T extends StorePlaces>(options: T): T {
  const { directory, stateDirectory, identity } = checkOptions(options)
  checkText(directory, '`directory`')
  checkText(stateDirectory, '`stateDirectory`')
  // An identity that was parsed or generated here has all of its parts.
  if (!isObject(identity) || !(identity.secret instanceof Uint8Array)) {
    throw invalid('`identity` must come from `generateIdentity` or `parseIdentity`')
  }
  refuseForeignRoot(resolve(directory), resolve(stateDirectory))
  return options
}

/** Exactly one way to name a point. Throws `invalid_input`. */
export function checkPoint(point: Point): Point {
  const named = isObject(point) ? Object.entries(point).filter(isGiven) : []
  const [[name, value] = [], ...others] = named
  const fits =
    ((name === 'time' || name === 'stampedTime') && typeof value === 'number') ||
    ((name === 'versionId' || name === 'commit') && typeof value === 'string')
  if (fits && others.length === 0) return point
  throw invalid(
    'A point must be one of { time: ms }, { stampedTime: ms }, { versionId } and { commit }',
  )
}

/** Throws `invalid_input`. */
export function checkRestore(request: RestoreRequest): RestoreRequest {
  const { memory, to } = checkObject(request, 'A restore')
  checkMemory(memory)
  if (to !== undefined) checkPoint(to)
  return request
}

/** Throws `invalid_input`. */
export function checkRollback(request: RollbackRequest): RollbackRequest {
  checkPoint(checkObject(request, 'A rollback').to)
  return request
}

/** Throws `invalid_input`. */
export function checkBlame(memory: string, options: BlameOptions): void {
  checkMemory(memory)
  const { at } = checkOptions(options)
  if (at !== undefined) checkPoint(at)
}

/** Throws `invalid_input`. */
export function checkSearch(query: SearchQuery): SearchQuery {
  const { at } = checkObject(query, 'The query')
  if (at !== undefined) checkPoint(at)
  return query
}

function checkMemory(memory: unknown): void {
  if (typeof memory !== 'string') throw invalid('A memory must be named by its path or as mem_…')
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}

function isTime(value: unknown): boolean {
  return typeof value === 'number' && !Number.isNaN(value)
}

function isGiven([, value]: readonly [string, unknown]): boolean {
  return value !== undefined
}

function invalid(message: string): StoreError {
  return new StoreError('invalid_input', message)
}

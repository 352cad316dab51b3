// What the commands of the memory tool do to a store, once for all adapters: the handlers of the
// memory tool and the command line. Paths are store paths; results are data, which the adapters
// word; failures are StoreErrors. Must not load zod, which takes the command line longer than an
// edit does: `operations.ts` has the schemas of inputs.

import { StoreError } from '../errors.ts'
import { checkNewPath, checkPath } from '../format/path.ts'
import { viewLinesMax } from '../limits.ts'
import type { ChangeWriter } from '../store/change-writer.ts'
import type { Applied, AppliedChanges } from '../store/changes/apply.ts'
import type { DirectoryListing } from '../store/snapshot/listing.ts'
import type { MemoryInfo } from '../store/snapshot/live-memory.ts'
import {
  countLines,
  findOccurrences,
  insertAfterLine,
  linesAt,
  replaceAt,
  splitLines,
  type TextEdit,
} from '../text/text-edit.ts'
import type { MemoryReader, OperationContext } from './operation.ts'
import type {
  CreateInput,
  DeleteInput,
  InsertInput,
  RenameInput,
  StrReplaceInput,
  ViewInput,
} from './schemas.ts'

/** Consecutive lines of a text. */
export interface NumberedLines {
  /** 1-based number of `lines[0]`. */
  readonly firstLine: number
  readonly lines: readonly string[]
}

export type ViewResult =
  | ({
      readonly type: 'file'
      readonly memory: MemoryInfo
      readonly lineCount: number
    } & NumberedLines)
  | { readonly type: 'directory'; readonly listing: DirectoryListing }

export interface EditResult extends Applied {
  /** The changed lines with two lines before and after them. */
  readonly snippet: NumberedLines
}

/** Levels of a directory that `view` lists. */
export const listingDepth = 2
/** Occurrences beyond this number are not reported. */
const OCCURRENCES_MAX = 1000
const SNIPPET_MARGIN = 2

export async function create(
  { me }: OperationContext,
  { path, file_text }: CreateInput,
): Promise<Applied> {
  // The path grammar has no root, but the root exists.
  if (path === '/') throw taken(path)
  return me.apply([{ type: 'create', path, content: file_text }])
}

export function strReplace({ me }: OperationContext, input: StrReplaceInput): Promise<EditResult> {
  return replaceText(me, input)
}

export async function insert(
  { me }: OperationContext,
  { path, insert_line, insert_text }: InsertInput,
): Promise<Applied> {
  const edit = (content: string): string => {
    checkInsertLine(path, insert_line, countLines(content))
    return insertAfterLine(content, insert_line, insert_text)
  }
  return me.edit(checkFilePath(path), edit)
}

/** Deletes a file, or a directory with everything below it. */
export async function remove({ me }: OperationContext, { path }: DeleteInput): Promise<Applied> {
  checkNotRoot(path, 'deleted')
  return me.delete(checkStorePath(path))
}

export async function rename(
  { store, me }: OperationContext,
  input: RenameInput,
): Promise<Applied> {
  const path = checkStorePath(input.old_path)
  const to = checkStorePath(input.new_path)
  checkNotRoot(path, 'renamed')
  if (isBelow(to, path) || isBelow(path, to)) {
    // Such a move is never possible, so checking first is no race. The store itself would let a
    // file move below its own name, and the only file of a directory take the directory's place.
    if ((await store.list(path, { depth: 0 })) === undefined) throw notFound(path)
    throw isBelow(to, path) ? intoItself(to) : taken(to)
  }
  return me.move(path, to)
}

/** The path itself, if it is the root or a path of FORMAT §5.2. Throws `invalid_path`. */
export function checkStorePath(path: string): string {
  return path === '/' ? path : checkPath(path)
}

/** Like `checkStorePath`, for a memory's new path. */
export function checkNewStorePath(path: string): string {
  return path === '/' ? path : checkNewPath(path)
}

/** Whether `path` lies below `directory`, at any depth. */
export function isBelow(path: string, directory: string): boolean {
  return directory === '/' ? path !== '/' : path.startsWith(`${directory}/`)
}

/** Shows a file or a directory, of a store as it is or as it was. */
export async function viewPath(reader: MemoryReader, input: ViewInput): Promise<ViewResult> {
  const path = checkStorePath(input.path)
  const memory = path === '/' ? undefined : await reader.read(path)
  if (memory !== undefined) {
    const { content, ...info } = memory
    return viewLines(info, content, input.view_range)
  }
  const listing = await reader.list(path, { depth: listingDepth })
  if (listing === undefined) throw notFound(path)
  // A file replaced the directory between the two calls.
  if (listing.type === 'file') return viewPath(reader, input)
  return viewListing(listing, input)
}

/** What `view` makes of a directory. Throws `invalid_input` if lines of it are asked for. */
export function viewListing(
  listing: DirectoryListing,
  { path, view_range }: ViewInput,
): ViewResult & { readonly type: 'directory' } {
  if (view_range === undefined) return { type: 'directory', listing }
  throw new StoreError(
    'invalid_input',
    'Invalid `view_range` parameter: a directory has no lines; leave it out',
    { details: { parameter: 'view_range', path } },
  )
}

function viewLines(
  memory: MemoryInfo,
  content: string,
  range: readonly [number, number] = [1, -1],
): ViewResult {
  const { path } = memory
  const lineCount = countLines(content)
  if (lineCount > viewLinesMax) {
    throw new StoreError('too_many_lines', `The file has more than ${viewLinesMax} lines`, {
      details: { path, actual: lineCount, limit: viewLinesMax },
    })
  }
  const [firstLine, end] = range
  const lines = splitLines(content).slice(firstLine - 1, end === -1 ? undefined : end)
  return { type: 'file', memory, lineCount, firstLine, lines }
}

/** Replaces the only occurrence, in a content that has the expected hash, if there is one. */
export async function replaceText(
  me: ChangeWriter,
  { path, old_str, new_str = '' }: StrReplaceInput,
  expectedSha256?: string,
): Promise<EditResult & AppliedChanges> {
  let edited: TextEdit | undefined
  const edit = (content: string): string => {
    const offset = findOnly(path, content, old_str)
    edited = replaceAt(content, offset, old_str.length, new_str)
    return edited.text
  }
  const change = { type: 'edit', path: checkFilePath(path), edit, expectedSha256 } as const
  const applied = await me.apply([change])
  return { ...applied, snippet: snippetOf(edited) }
}

/** The offset of the only occurrence. */
function findOnly(path: string, content: string, part: string): number {
  const offsets = findOccurrences(content, part, OCCURRENCES_MAX)
  const [offset] = offsets
  if (offset === undefined) {
    throw new StoreError('no_match', 'The text to replace does not occur', { details: { path } })
  }
  if (offsets.length === 1) return offset
  throw new StoreError('multiple_matches', 'The text to replace occurs more than once', {
    details: { path, lines: linesAt(content, offsets) },
  })
}

function snippetOf(edited: TextEdit | undefined): NumberedLines {
  if (edited === undefined) return { firstLine: 1, lines: [] }
  const firstLine = Math.max(1, edited.firstLine - SNIPPET_MARGIN)
  const lines = splitLines(edited.text).slice(firstLine - 1, edited.lastLine + SNIPPET_MARGIN)
  return { firstLine, lines }
}

function checkInsertLine(path: string, line: number, lineCount: number): void {
  if (line >= 0 && line <= lineCount) return
  throw new StoreError('invalid_line', `Text can be inserted after the lines 0 to ${lineCount}`, {
    details: { path, parameter: 'insert_line', actual: line, limit: lineCount },
  })
}

/** A path that a file can have: any but the root. */
function checkFilePath(path: string): string {
  if (path === '/') throw notFound(path)
  return checkStorePath(path)
}

function checkNotRoot(path: string, verb: string): void {
  if (path !== '/') return
  throw new StoreError('invalid_path', `The root directory cannot be ${verb}`, {
    details: { path },
  })
}

function notFound(path: string): StoreError {
  return new StoreError('not_found', 'There is no such file or directory', { details: { path } })
}

function taken(path: string): StoreError {
  return new StoreError('path_conflict', 'The path is taken', { details: { path } })
}

function intoItself(path: string): StoreError {
  return new StoreError('move_into_itself', 'Nothing can be moved below its own path', {
    details: { path },
  })
}

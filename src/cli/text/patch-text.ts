// The difference between two versions, or two states of memories, as git patches, which `git apply`
// accepts, and in the short forms --stat and --name-only.

import { formatPatch, structuredPatch, type StructuredPatch } from 'diff'
import { StoreError } from '../../errors.ts'
import type { Wire } from '../../operations/wire.ts'
import type { TextState } from '../../store/history/history-diff.ts'
import type { FullVersion, Version } from '../../store/history/versions.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import type { Ink } from '../terminal/ink.ts'
import { wire } from './wire.ts'

export interface TextChange {
  /** Undefined if there was no memory. */
  readonly before: TextState | undefined
  /** Undefined if the memory no longer exists. */
  readonly after: TextState | undefined
}

/** Two texts that differ everywhere would take minutes to compare line by line. */
const DIFF_TIMEOUT_MS = 3000
const CONTEXT_LINES = 3
const STAT_CELLS = 40

/** Labels of the two sides of a patch, after their file names. */
export interface Labels {
  readonly before?: string
  readonly after?: string
}

/**
 * One patch of files for all changes together, in the order of their paths. `git apply` applies the
 * patches of a file one after the other, but takes the source of a rename from before all of them,
 * so each path is in one patch only. Memories that swapped paths become edits, and a rename remains
 * one only if no other memory had its new path or takes its old one.
 */
export function patchesText(ink: Ink, changes: readonly TextChange[]): string {
  const files = fileChanges(changes)
  return files.map((change) => paintPatch(ink, patchText(change))).join('')
}

function fileChanges(changes: readonly TextChange[]): readonly TextChange[] {
  const previous = sidesByPath(changes, 'before')
  const current = sidesByPath(changes, 'after')
  const files = changes.flatMap(({ before, after }): readonly TextChange[] => {
    const isVacated = before !== undefined && !current.has(before.path)
    if (isVacated && after !== undefined && !previous.has(after.path)) return [{ before, after }]
    return [
      ...(isVacated ? [{ before, after: undefined }] : []),
      ...(after === undefined ? [] : [{ before: previous.get(after.path), after }]),
    ]
  })
  const pathOf = ({ before, after }: TextChange): string => (after ?? before)?.path ?? ''
  return files.toSorted((a, b) => (pathOf(a) < pathOf(b) ? -1 : 1))
}

function sidesByPath(
  changes: readonly TextChange[],
  side: keyof TextChange,
): ReadonlyMap<string, TextState> {
  const known = changes.flatMap((change) => change[side] ?? [])
  return new Map(known.map((each) => [each.path, each]))
}

/** The patch of one change, without colours. Empty if nothing changed, else ends in a newline. */
export function patchText(change: TextChange, labels: Labels = {}): string {
  const { before, after } = change
  const patch = patchOf(change)
  const sameName = before?.path === after?.path
  if (sameName && patch.hunks.length === 0) return ''
  return formatPatch({ ...patch, oldHeader: labels.before, newHeader: labels.after })
}

/** `/notes.md | 3 ++-` for each change, and the sum. */
export function statText(ink: Ink, changes: readonly TextChange[]): string {
  const rows = changes.map((change) => ({ name: nameOf(change), ...countLines(patchOf(change)) }))
  const width = Math.max(0, ...rows.map(({ name }) => name.length))
  const most = Math.max(1, ...rows.map(({ added, removed }) => added + removed))
  const digits = String(most).length
  const lines = rows.map(({ name, added, removed }) => {
    const plus = ink.paint('green', '+'.repeat(cellsOf(added, most)))
    const minus = ink.paint('red', '-'.repeat(cellsOf(removed, most)))
    const count = String(added + removed).padStart(digits)
    return ` ${ink.plain(name.padEnd(width))} | ${count} ${plus}${minus}`.trimEnd() + '\n'
  })
  const sum = (key: 'added' | 'removed'): number => rows.reduce((all, row) => all + row[key], 0)
  const summary = `${rows.length} ${rows.length === 1 ? 'memory' : 'memories'} changed`
  return `${lines.join('')} ${summary}, +${sum('added')} -${sum('removed')} lines\n`
}

function cellsOf(count: number, most: number): number {
  return Math.ceil((count * Math.min(STAT_CELLS, most)) / most)
}

/** The path, or both paths of a rename. */
export function nameOf({ before, after }: TextChange): string {
  if (before === undefined || after === undefined || before.path === after.path) {
    return (after ?? before)?.path ?? ''
  }
  return `${before.path} => ${after.path}`
}

export function changeJson(
  change: TextChange & { readonly memoryId: string },
  others: Wire = {},
): Wire {
  const { memoryId, before, after } = change
  const paths = { pathBefore: before?.path, pathAfter: after?.path }
  return wire({ type: 'memory_change', memoryId, ...others, ...paths, diff: patchText(change) })
}

/** Adds the colours that git uses. */
export function paintPatch(ink: Ink, patch: string): string {
  let inHunk = false
  const painted = patch.split('\n').map((line) => {
    if (line.startsWith('@@ ')) inHunk = true
    else if (line.startsWith('diff --git ')) inHunk = false
    if (!inHunk) return ink.paint('bold', line)
    if (line.startsWith('@@ ')) return ink.paint('cyan', line)
    if (line.startsWith('+')) return ink.paint('green', line)
    return line.startsWith('-') ? ink.paint('red', line) : ink.plain(line)
  })
  return painted.join('\n')
}

function patchOf({ before, after }: TextChange): StructuredPatch {
  const from = before?.content ?? ''
  const to = after?.content ?? ''
  const oldName = before === undefined ? '/dev/null' : `a${before.path}`
  const newName = after === undefined ? '/dev/null' : `b${after.path}`
  const options = { timeout: DIFF_TIMEOUT_MS, context: CONTEXT_LINES }
  const found = structuredPatch(oldName, newName, from, to, undefined, undefined, options)
  return {
    ...(found ?? wholePatch(oldName, newName, from, to)),
    isGit: true,
    isCreate: before === undefined,
    isDelete: after === undefined,
    isRename: before !== undefined && after !== undefined && before.path !== after.path,
  }
}

/** Removes all of one text and adds all of the other: correct, but longer than needed. */
function wholePatch(
  oldFileName: string,
  newFileName: string,
  from: string,
  to: string,
): StructuredPatch {
  const removed = linesOf(from)
  const added = linesOf(to)
  const hunk = {
    oldStart: 1,
    oldLines: removed.length,
    newStart: 1,
    newLines: added.length,
    lines: [...marked('-', removed, from), ...marked('+', added, to)],
  }
  return { oldFileName, newFileName, oldHeader: undefined, newHeader: undefined, hunks: [hunk] }
}

function linesOf(text: string): readonly string[] {
  const lines = text.split('\n')
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines
}

function marked(mark: string, lines: readonly string[], text: string): readonly string[] {
  const ends = text === '' || text.endsWith('\n')
  return [...lines.map((line) => mark + line), ...(ends ? [] : ['\\ No newline at end of file'])]
}

function countLines({ hunks }: StructuredPatch) {
  let [added, removed] = [0, 0]
  for (const line of hunks.flatMap(({ lines }) => lines)) {
    if (line.startsWith('+')) added += 1
    if (line.startsWith('-')) removed += 1
  }
  return { added, removed }
}

/** Undefined for the first version of a memory. */
export async function findBase(
  store: MemoryStore,
  { baseVersionId }: Version,
): Promise<FullVersion | undefined> {
  return baseVersionId === undefined ? undefined : store.history.version(baseVersionId)
}

/** The patch of a version; undefined if a redaction leaves nothing to compare. */
export async function findVersionPatch(
  store: MemoryStore,
  version: Version,
): Promise<string | undefined> {
  const full = await store.history.version(version.versionId)
  const base = await findBase(store, version)
  if (isRedacted(full) || isRedacted(base)) return undefined
  return versionPatch(base, full)
}

/** Throws `redacted`. */
export function versionPatch(from: FullVersion | undefined, to: FullVersion): string {
  if (isRedacted(from) || isRedacted(to)) {
    throw new StoreError('redacted', 'One of the two versions was redacted')
  }
  const labels = { after: to.versionId, ...(from === undefined ? {} : { before: from.versionId }) }
  return patchText({ before: sideOf(from), after: sideOf(to) }, labels)
}

function isRedacted(version: FullVersion | undefined): boolean {
  return version?.redactedAt !== undefined
}

/** Undefined before a creation and after a deletion. */
function sideOf(version: FullVersion | undefined): TextChange['before'] {
  const { content, path } = version ?? {}
  return content === undefined || path === undefined ? undefined : { path, content }
}

// `view`, `ls` and `cat`: print a directory or a memory of the store, current or past. `view` shows
// it as the memory tool does.

import { StoreError } from '../../errors.ts'
import { formatSize } from '../../memory-tool/render.ts'
import { type ViewResult, viewPath } from '../../operations/actions.ts'
import type { MemoryReader } from '../../operations/operation.ts'
import { pageJson } from '../../operations/wire.ts'
import { MemoryStore } from '../../store/memory-store.ts'
import type { DirectoryListing } from '../../store/snapshot/listing.ts'
import type { Memory } from '../../store/snapshot/live-memory.ts'
import { type Answer, type Command, type Context, type Input, usageError } from '../call/command.ts'
import { atOption } from '../call/options.ts'
import { withReader } from '../store/past.ts'
import { findUnseen } from '../store/seen-conflicts.ts'
import { inkOf } from '../terminal/ink.ts'
import { numbered } from '../text/memories.ts'
import { storePath } from '../text/store-path.ts'
import { ageFormat } from '../text/times.ts'
import { listingJson, memoryJson } from '../text/wire.ts'
import { sizeText } from '../text/words.ts'

export const commands: readonly Command[] = [
  {
    name: 'view',
    summary: 'Show a memory or a directory as an agent sees it',
    usage: '[<path>]',
    options: {
      '--range <first:last>': 'Only these lines, as 10:20 or 10:',
      ...atOption,
    },
    run: view,
  },
  {
    name: 'ls',
    summary: 'List a directory, including hidden names',
    usage: '[<path>]',
    options: {
      '-R, --recursive': 'Every memory below it, by its path',
      '-l, --long': 'With sizes, times, and merges to review',
      ...atOption,
    },
    run: ls,
  },
  {
    name: 'cat',
    summary: 'Print the content of a memory, byte for byte',
    usage: '<path>',
    options: atOption,
    run: cat,
  },
]

/** Shows numbered lines, or two levels of a directory without hidden names. */
function view(context: Context, input: Input): Promise<Answer> {
  const path = storePath(input.findArgument(0) ?? '/')
  const view_range = rangeOf(input.text('range'))
  const request = { path, view_range }
  return withReader(context, input, async (reader) => {
    const result = await viewPath(reader, request)
    return result.type === 'file' ? fileAnswer(result) : directoryAnswer(result.listing)
  })
}

function fileAnswer(result: Extract<ViewResult, { readonly type: 'file' }>): Answer {
  const { memory, lineCount, firstLine, lines } = result
  const { path, memoryId, versionId } = memory
  return {
    text: numbered(result),
    json: {
      type: 'memory',
      id: memoryId,
      memory_version_id: versionId,
      path,
      line_count: lineCount,
      first_line: firstLine,
      lines,
    },
  }
}

function directoryAnswer(listing: DirectoryListing): Answer {
  const shown = withoutHidden(listing)
  const rows = flat(shown).map(({ type, path, sizeBytes }, index) => {
    const slash = type === 'directory' && index > 0 ? '/' : ''
    return `${formatSize(sizeBytes)}\t${path}${slash}\n`
  })
  return { text: rows.join(''), json: pageJson(listingJson(shown)) }
}

function withoutHidden(listing: DirectoryListing): DirectoryListing {
  return { ...listing, children: listing.children.filter(isShown).map(withoutHidden) }
}

function isShown({ name }: DirectoryListing): boolean {
  return !name.startsWith('.') && name !== 'node_modules'
}

function flat(listing: DirectoryListing): DirectoryListing[] {
  return [listing, ...listing.children.flatMap(flat)]
}

/** `10:20` or `10:`, 1-based and inclusive. */
function rangeOf(text: string | undefined): readonly [number, number] | undefined {
  if (text === undefined) return undefined
  const match = /^(\d{1,9}):(\d{0,9})$/.exec(text)
  const first = Number(match?.[1] ?? 0)
  const last = match?.[2] === '' ? -1 : Number(match?.[2] ?? 0)
  if (first >= 1 && (last === -1 || last >= first)) return [first, last]
  throw usageError('--range must be two lines such as 10:20, or 10: up to the end', 'view')
}

/** Lists every name, including hidden ones. */
function ls(context: Context, input: Input): Promise<Answer> {
  const path = storePath(input.findArgument(0) ?? '/')
  const recursive = input.flag('recursive')
  return withReader(context, input, async (store) => {
    const long = input.flag('long')
    const listing = await store.list(path, recursive || long ? {} : { depth: 1 })
    if (listing === undefined) throw notFound(path)
    const entries = recursive ? filesBelow(listing) : childrenOrSelf(listing)
    const nameOf = (entry: DirectoryListing): string =>
      `${recursive ? entry.path : entry.name}${entry.type === 'directory' ? '/' : ''}`
    const json = entries.flatMap((entry) => listingJson({ ...entry, children: [] }))
    if (long) {
      const text = await longText(context, input, entries, nameOf, await unreviewed(context, store))
      return { text, inked: true, json: pageJson(json) }
    }
    const lines = entries.map((entry) => `${nameOf(entry)}\n`)
    return { text: lines.join(''), json: pageJson(json) }
  })
}

/** With sizes, times, and the memories that a merge left for review. */
async function longText(
  context: Context,
  input: Input,
  entries: readonly DirectoryListing[],
  nameOf: (entry: DirectoryListing) => string,
  merged: ReadonlySet<string>,
): Promise<string> {
  // Most listings need no table.
  const { tableText } = await import('../text/table.ts')
  const age = ageFormat(context)
  const isMerged = (entry: DirectoryListing): boolean => {
    return merged.has(entry.path) || entry.children.some(isMerged)
  }
  return tableText(context, inkOf(context, input), entries, [
    { head: 'NAME', cell: nameOf, cut: 'beginning' },
    {
      head: 'SIZE',
      cell: ({ sizeBytes }) => sizeText(sizeBytes),
      exact: ({ sizeBytes }) => String(sizeBytes),
      align: 'right',
    },
    { head: 'CHANGED', cell: (entry) => age(changedAt(entry)) },
    {
      head: 'REVIEW',
      cell: (entry) => (isMerged(entry) ? 'merged' : ''),
      paint: 'yellow',
    },
  ])
}

/** The newest change of a memory, or of those below a directory. */
function changedAt({ updatedAt = 0, children }: DirectoryListing): number {
  return children.reduce((newest, child) => Math.max(newest, changedAt(child)), updatedAt)
}

/** The paths of memories with a merge that no user of this device has looked at. */
async function unreviewed(context: Context, reader: MemoryReader): Promise<ReadonlySet<string>> {
  if (!(reader instanceof MemoryStore)) return new Set()
  const found = await findUnseen(context, reader)
  return new Set(found.flatMap(({ path }) => path ?? []))
}

function filesBelow(listing: DirectoryListing): DirectoryListing[] {
  return listing.type === 'file' ? [listing] : listing.children.flatMap(filesBelow)
}

function childrenOrSelf(listing: DirectoryListing): readonly DirectoryListing[] {
  return listing.type === 'file' ? [listing] : listing.children
}

function cat(context: Context, input: Input): Promise<Answer> {
  const path = storePath(input.argument(0))
  return withReader(context, input, async (store) => {
    const memory = await getMemory(store, path)
    return { text: memory.content, json: memoryJson(memory) }
  })
}

/** The memory at a path. Throws `not_found`, also for a directory. */
export async function getMemory(store: MemoryReader, path: string): Promise<Memory> {
  const memory = await store.read(path)
  if (memory !== undefined) return memory
  if ((await store.list(path, { depth: 0 })) === undefined) throw notFound(path)
  throw new StoreError('not_found', 'This is a directory, not a memory', { details: { path } })
}

function notFound(path: string): StoreError {
  return new StoreError('not_found', 'There is no such file or directory', { details: { path } })
}

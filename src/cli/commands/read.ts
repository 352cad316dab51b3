// `view`, `ls` and `cat`: print a directory or a memory of the store, current or past. `view` shows
// it as the memory tool does.

import { StoreError } from '../../errors.ts'
import { formatSize } from '../../memory-tool/render.ts'
import { type ViewResult, viewPath } from '../../operations/actions.ts'
import type { MemoryReader } from '../../operations/operation.ts'
import { pageJson } from '../../operations/wire.ts'
import type { DirectoryListing } from '../../store/snapshot/listing.ts'
import type { Memory } from '../../store/snapshot/live-memory.ts'
import { type Answer, type Command, type Context, type Input, usageError } from '../call/command.ts'
import { atOption } from '../call/options.ts'
import { withReader } from '../store/past.ts'
import { numbered } from '../text/memories.ts'
import { storePath } from '../text/store-path.ts'
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
      '-l, --long': 'With sizes',
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
    const listing = await store.list(path, recursive ? {} : { depth: 1 })
    if (listing === undefined) throw notFound(path)
    const entries = recursive ? filesBelow(listing) : childrenOrSelf(listing)
    const nameOf = (entry: DirectoryListing): string => (recursive ? entry.path : entry.name)
    const lines = entries.map((entry) => {
      const size = input.flag('long') ? `${sizeText(entry.sizeBytes).padStart(9)}  ` : ''
      return `${size}${nameOf(entry)}${entry.type === 'directory' ? '/' : ''}\n`
    })
    const json = entries.flatMap((entry) => listingJson({ ...entry, children: [] }))
    return { text: lines.join(''), json: pageJson(json) }
  })
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

function filesBelow(listing: DirectoryListing): DirectoryListing[] {
  return listing.type === 'file' ? [listing] : listing.children.flatMap(filesBelow)
}

function childrenOrSelf(listing: DirectoryListing): readonly DirectoryListing[] {
  return listing.type === 'file' ? [listing] : listing.children
}

function notFound(path: string): StoreError {
  return new StoreError('not_found', 'There is no such file or directory', { details: { path } })
}

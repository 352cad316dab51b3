// `view`: a memory or a directory as an agent sees it, as the memory tool shows it.

import { viewPath, type ViewResult } from '../../api/actions.ts'
import { pageJson } from '../../api/wire.ts'
import { formatSize } from '../../memory-tool/render.ts'
import type { DirectoryListing } from '../../store/snapshot/listing.ts'
import { usageError } from '../call/command-error.ts'
import type { Answer, Input } from '../call/command.ts'
import type { Context } from '../call/context.ts'
import { withReader } from '../store/past.ts'
import { numbered } from '../text/numbered.ts'
import { storePath } from '../text/store-path.ts'
import { listingJson } from '../text/wire.ts'

/** Shows numbered lines, or two levels of a directory without hidden names. */
export function view(context: Context, input: Input): Promise<Answer> {
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

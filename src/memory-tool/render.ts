// The answers of the memory tool, character for character (docs/MEMORY-TOOL.md): numbered lines,
// sizes, directory listings. Pure; decides only which names are hidden and where a long file is
// truncated.

import type { NumberedLines, ViewResult } from '../operations/actions.ts'
import type { DirectoryListing } from '../store/snapshot/listing.ts'

const NUMBER_WIDTH = 6
/** UTF-16 units of numbered lines in one answer. */
const ROWS_MAX = 16_000
const LISTING_HEADER_END = ', excluding hidden items and node_modules:'

export function renderView(shown: string, result: ViewResult): string {
  return result.type === 'file' ? renderFile(shown, result) : renderListing(shown, result.listing)
}

export function renderSnippet({ firstLine, lines }: NumberedLines): string {
  return lines.map((line, index) => numbered(firstLine + index, line)).join('\n')
}

/** Bytes as `512B`, `1.5K`, `4.0M`: one decimal above 1,023, and never 1,024 of a unit. */
export function formatSize(bytes: number): string {
  if (bytes < 1024) return `${bytes}B`
  let value = bytes / 1024
  for (const unit of ['K', 'M']) {
    const text = value.toFixed(1)
    if (text !== '1024.0' && value < 1024) return text + unit
    value /= 1024
  }
  return `${value.toFixed(1)}G`
}

function renderFile(shown: string, file: ViewResult & { readonly type: 'file' }): string {
  const { firstLine, lines, lineCount } = file
  const rows = rowsThatFit(file)
  const last = firstLine + rows.length - 1
  const end = firstLine + lines.length - 1
  const text = `Here's the content of ${shown} with line numbers:\n${rows.join('\n')}`
  if (last === end) return text
  const read = `Use view_range [${last + 1}, ${end}] to read on.`
  return `${text}\n[Truncated: showing lines ${firstLine}-${last} of ${lineCount}. ${read}]`
}

/** Whole rows, at least one if there is one, whose text with its newlines fits the limit. */
function rowsThatFit({ firstLine, lines }: NumberedLines): readonly string[] {
  const rows: string[] = []
  let length = -1
  for (const [index, line] of lines.entries()) {
    const row = numbered(firstLine + index, line)
    length += row.length + 1
    if (length > ROWS_MAX && rows.length > 0) break
    rows.push(row)
  }
  return rows
}

function numbered(line: number, text: string): string {
  return `${String(line).padStart(NUMBER_WIDTH)}\t${text}`
}

function renderListing(shown: string, listing: DirectoryListing): string {
  const rows = [`${formatSize(listing.sizeBytes)}\t${shown}`]
  addRows(rows, shown, listing.children)
  const header = `Here're the files and directories up to 2 levels deep in ${shown}`
  return `${header}${LISTING_HEADER_END}\n${rows.join('\n')}`
}

function addRows(rows: string[], above: string, children: readonly DirectoryListing[]): void {
  for (const child of children) {
    if (isHidden(child.name)) continue
    const path = `${above}/${child.name}`
    rows.push(`${formatSize(child.sizeBytes)}\t${path}${child.type === 'directory' ? '/' : ''}`)
    addRows(rows, path, child.children)
  }
}

/** Whether a listing leaves it out. */
export function isHidden(name: string): boolean {
  return name.startsWith('.') || name === 'node_modules'
}

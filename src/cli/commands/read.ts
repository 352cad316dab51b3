// `ls` and `cat`: print a directory or a memory of the store, current or past.

import type { MemoryReader } from '../../api/operation.ts'
import { pageJson } from '../../api/wire.ts'
import { StoreError } from '../../errors.ts'
import type { DirectoryListing } from '../../store/snapshot/listing.ts'
import type { Memory } from '../../store/snapshot/memory-info.ts'
import type { Answer, Input } from '../call/command.ts'
import type { Context } from '../call/context.ts'
import { withReader } from '../store/past.ts'
import { sizeText } from '../text/sizes.ts'
import { storePath } from '../text/store-path.ts'
import { listingJson, memoryJson } from '../text/wire.ts'

/** Lists every name, including hidden ones. */
export function ls(context: Context, input: Input): Promise<Answer> {
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

export function cat(context: Context, input: Input): Promise<Answer> {
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

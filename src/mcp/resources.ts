// Memories as resources: `memory://<store>/<path>`, each segment percent-encoded. A store that is
// not mounted, or a path outside a mount, does not exist.

import type {
  ListResourcesResult,
  Resource,
  ResourceTemplateType,
  TextResourceContents,
} from '@modelcontextprotocol/server'
import { hasCode } from '../errors.ts'
import type { Mount } from '../memory-tool/mount.ts'
import { Refusal } from '../memory-tool/refusal.ts'
import type { Place, ToolSpace } from '../memory-tool/tool-space.ts'
import { timestamp } from '../operations/wire.ts'
import type { ListedMemory } from '../store/memories.ts'
import type { MemoryInfo } from '../store/snapshot/live-memory.ts'

const SCHEME = 'memory://'
const PAGE = 100
/** As JSON, of a memory that is read as a resource. */
const TEXT_BYTES_MAX = 1_000_000

export const resourceTemplate: ResourceTemplateType = {
  uriTemplate: `${SCHEME}{store}/{+path}`,
  name: 'memory',
  title: 'A memory',
  description: 'The text of one memory: the path has its segments percent-encoded',
}

/** Undefined for a cursor of another list. */
export async function listResources(
  { mounts }: ToolSpace,
  cursor: string | undefined,
): Promise<ListResourcesResult | undefined> {
  const from = cursor === undefined ? { index: 0, after: undefined } : placeOf(mounts, cursor)
  const mount = mounts[from?.index ?? 0]
  if (from === undefined || mount === undefined) return undefined
  const { root } = mount
  try {
    const page = from.after === undefined || root === '/' ? from.after : root + from.after
    const found = await mount.use(({ store }) => store.memories({ path: root, limit: PAGE, page }))
    const data = found.data.filter((one): one is ListedMemory => one.type === 'memory')
    const resources = data.map((memory) => resourceOf(mount, memory))
    const next = found.nextPage === undefined ? undefined : belowRoot(mount, found.nextPage)
    const following = mounts[from.index + 1]
    if (next !== undefined) return { resources, nextCursor: cursorOf(mount, next) }
    return following === undefined ? { resources } : { resources, nextCursor: cursorOf(following) }
  } catch (error) {
    if (cursor !== undefined && hasCode(error, 'invalid_input')) return undefined
    throw error
  }
}

/** Undefined if there is no such memory. Throws a Refusal for one that is too long. */
export async function readResource(
  space: ToolSpace,
  uri: string,
): Promise<TextResourceContents | undefined> {
  const place = findPlace(space, uri)
  if (place === undefined || place.isRoot) return undefined
  const memory = await place.mount.use(({ store }) => store.read(place.path))
  if (memory === undefined) return undefined
  const { path, content } = memory
  if (Buffer.byteLength(JSON.stringify(content)) > TEXT_BYTES_MAX) {
    throw new Refusal('The memory is too long for one answer: read it with memory_read')
  }
  return { uri: uriOf(place.mount, path), mimeType: mimeTypeOf(path), text: content }
}

function findPlace(space: ToolSpace, uri: string): Place | undefined {
  const [, store = '', rest = ''] = /^memory:\/\/([^/?#]+)\/([^?#]+)$/.exec(uri) ?? []
  const mount = space.mounts.find(({ name }) => name === decode(store))
  const segments = rest.split('/').map(decode)
  if (mount === undefined || !segments.every(isSegment)) return undefined
  try {
    const place = space.parse('uri', `${space.directoryOf(mount)}/${segments.join('/')}`)
    return place.mount === mount ? place : undefined
  } catch (error) {
    // A path that no memory can have.
    if (error instanceof Refusal) return undefined
    throw error
  }
}

function isSegment(segment: string | undefined): segment is string {
  return segment !== undefined && !['', '.', '..'].includes(segment) && !segment.includes('/')
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

function resourceOf(mount: Mount, { path, sizeBytes, updatedAt }: MemoryInfo): Resource {
  return {
    uri: uriOf(mount, path),
    name: path.slice(path.lastIndexOf('/') + 1),
    title: belowRoot(mount, path).slice(1),
    mimeType: mimeTypeOf(path),
    size: sizeBytes,
    annotations: { lastModified: timestamp(updatedAt) },
  }
}

function uriOf(mount: Mount, path: string): string {
  return SCHEME + (mount.name + belowRoot(mount, path)).split('/').map(encodeURIComponent).join('/')
}

/** A path of the store as the caller knows it, who sees nothing above. */
function belowRoot({ root }: Mount, path: string): string {
  return root === '/' ? path : path.slice(root.length)
}

function mimeTypeOf(path: string): string {
  return /\.(?:md|markdown)$/i.test(path) ? 'text/markdown' : 'text/plain'
}

/** The cursor of the next page: the mount, and the last path in it. */
function cursorOf({ name }: Mount, after = ''): string {
  return Buffer.from(name + after).toString('base64url')
}

function placeOf(
  mounts: readonly Mount[],
  cursor: string,
): { readonly index: number; readonly after: string | undefined } | undefined {
  const decoded = Buffer.from(cursor, 'base64url').toString()
  const end = decoded.includes('/') ? decoded.indexOf('/') : decoded.length
  const index = mounts.findIndex(({ name }) => name === decoded.slice(0, end))
  return index === -1 ? undefined : { index, after: decoded.slice(end) || undefined }
}

// The listings that no store gives: of the root of a mount, which is a directory whatever the store
// has there, and of `/memories` where it holds several stores.

import { listingDepth } from '../api/actions.ts'
import type { DirectoryListing } from '../store/snapshot/listing.ts'
import type { Mount } from './mount.ts'
import type { ToolSpace } from './tool-space.ts'

export async function listMount(
  { name, root, use }: Mount,
  depth: number = listingDepth,
): Promise<DirectoryListing> {
  const found = await use(({ store }) => store.list(root, { depth }))
  if (found?.type === 'directory') return { ...found, name }
  return { type: 'directory', name, path: root, sizeBytes: 0, children: [] }
}

/** Each store as a directory, in the order of a listing. */
export async function listMounts({ mounts }: ToolSpace): Promise<DirectoryListing> {
  const listed = await Promise.all(mounts.map((mount) => listMount(mount, listingDepth - 1)))
  const children = listed.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  const sizeBytes = children.reduce((sum, child) => sum + child.sizeBytes, 0)
  return { type: 'directory', name: '', path: '/', sizeBytes, children }
}

// Fetches the head of a remote into a new repository on the disk.

import { hasCode, StoreError } from '../../errors.ts'
import { createDiskObjectStore } from '../../git/disk-store/disk-object-store.ts'
import type { HashedColumns } from '../../git/exchange.ts'
import type { StoreSession } from '../session/session.ts'
import { fetchHead, type FetchOptions } from './clone-remote.ts'

/** Fetches as `fetchHead` does, into a repository that is made in `directory`. */
export async function fetchInto(
  directory: string,
  options: FetchOptions,
  check: Parameters<typeof fetchHead>[2],
): Promise<HashedColumns | undefined> {
  const { disk, packer } = options
  const how = { ...(disk && { disk }), ...(packer && { packer }) }
  const objects = await createDiskObjectStore({ directory, ...how })
  try {
    return await fetchHead(objects, options, check)
  } finally {
    await objects.close()
  }
}

/**
 * Fetches everything after a push of all objects. Throws `object_corrupt` if some are still damaged
 * at the remote: git accepts such a push and replaces nothing that it has.
 */
export async function checkRepaired(
  { local }: StoreSession,
  url: string,
  { access, transfer, signal }: Pick<FetchOptions, 'access' | 'transfer' | 'signal'>,
): Promise<void> {
  await local.withScratch(async (disk, directory) => {
    try {
      const how = { url, access, transfer, signal, disk }
      await fetchInto(directory, how, async () => undefined)
    } catch (error) {
      if (!hasCode(error, 'remote_protocol', 'pack_refused')) throw error
      throw new StoreError(
        'object_corrupt',
        'The remote has all objects, but some are damaged there, and git never replaces an ' +
          'object: delete those that `git fsck` reports there, a damaged pack with its index, ' +
          'and repair it again; or push to a new repository',
        { cause: error },
      )
    }
  })
}

// What a session reaches, and where its client mounts it (Memory Stores API §10.6).

import { StoreError } from '../errors.ts'
import { sessionStoresMax } from '../limits.ts'
import type { HostedStore, SessionRequest, SessionResource } from './host.ts'
import { mountNames } from './mount-names.ts'

const secondsMin = 60
const secondsMax = 86_400
const MOUNT = '/mnt/memory/'

/** Throws `invalid_input`, `store_archived`, and what `get` throws for one that is not there. */
export function planResources(
  { resources, expiresIn }: SessionRequest,
  get: (storeId: string) => HostedStore,
): readonly SessionResource[] {
  const ids = resources.map((one) => one.memory_store_id)
  if (ids.length === 0 || ids.length > sessionStoresMax || new Set(ids).size < ids.length) {
    throw invalid(
      `A session has 1 to ${sessionStoresMax} memory stores, each of them once`,
      'resources',
    )
  }
  if (!Number.isInteger(expiresIn) || expiresIn < secondsMin || expiresIn > secondsMax) {
    const right = `an integer from ${secondsMin} to ${secondsMax}`
    throw invalid(`The seconds until a session expires must be ${right}`, 'expires_in')
  }
  const stores = ids.map(get)
  if (stores.some(({ archivedAt }) => archivedAt !== undefined)) {
    throw new StoreError('store_archived', 'An archived memory store cannot be attached')
  }
  const names = mountNames(stores)
  return resources.map((resource, index) => ({
    type: 'memory_store',
    memory_store_id: resource.memory_store_id,
    access: resource.access,
    instructions: resource.instructions,
    name: stores[index]?.name ?? '',
    description: stores[index]?.description ?? '',
    mount_path: MOUNT + names[index],
  }))
}

function invalid(message: string, parameter: string): StoreError {
  return new StoreError('invalid_input', message, { details: { parameter } })
}

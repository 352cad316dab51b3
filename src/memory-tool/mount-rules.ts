// What several stores must fulfil to be mounted together below `/memories`: how many there may
// be, and which names their directories may have.

import { checkNewStorePath } from '../api/actions.ts'
import { hasCode, StoreError } from '../errors.ts'
import { mountNames } from '../hosting/mount-names.ts'
import { sessionStoresMax } from '../limits.ts'
import type { MountInfo } from './mount.ts'
import { isHidden } from './render.ts'

/** Throws `invalid_input`. */
export function checkMounts(mounts: readonly Pick<MountInfo, 'name' | 'storeId'>[]): void {
  const ids = new Set(mounts.map(({ storeId }) => storeId))
  if (mounts.length === 0 || mounts.length > sessionStoresMax || ids.size < mounts.length) {
    throw invalid(`There must be 1 to ${sessionStoresMax} stores, each of them once`)
  }
  for (const { name } of mounts) checkMountName(name)
  if (new Set(mounts.map(({ name }) => mountKey(name))).size < mounts.length) {
    throw invalid('Stores must have mounts of different names, also if case is ignored')
  }
}

/** One segment of a path that listings show. Throws `invalid_input`. */
export function checkMountName(name: unknown): string {
  if (typeof name !== 'string' || name === '' || name.includes('/') || isHidden(name))
    throw noName()
  try {
    checkNewStorePath(`/${name}`)
    return name
  } catch (error) {
    throw hasCode(error, 'invalid_path') ? noName() : error
  }
}

/** The names that are given, and for the other stores names made of what these are called. */
export function chooseNames(
  stores: readonly {
    readonly storeId: string
    readonly name: string
    readonly mount: string | undefined
  }[],
): readonly string[] {
  const taken = stores.flatMap(({ mount }) => (mount === undefined ? [] : [mountKey(mount)]))
  const others = stores.filter(({ mount }) => mount === undefined)
  const made = mountNames(others, taken)
  return stores.map((store) => store.mount ?? made[others.indexOf(store)] ?? store.storeId)
}

/** Equal for names that differ in case alone. */
function mountKey(name: string): string {
  return name.toUpperCase().toLowerCase()
}

function noName(): StoreError {
  const rule = 'one segment of a path, which does not begin with a dot and is not node_modules'
  return invalid(`The name of a mount must be ${rule}`)
}

function invalid(message: string): StoreError {
  return new StoreError('invalid_input', message, { details: { parameter: 'mount' } })
}

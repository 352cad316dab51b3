// Replaces the operator secret that recovers the stores of a server. Stores that are made in the
// meantime have to get the new secret already, so a server is given it before this runs. May be
// repeated at any time, even after it was killed: it recognises stores that are done.

import type { WorkOptions } from '../async.ts'
import { StoreError } from '../errors.ts'
import type { Actor } from '../format/change-record.ts'
import type { MemoryStore } from '../store/memory-store.ts'
import { checkNotCancelled } from '../time-slice.ts'

export interface Rotation extends WorkOptions {
  /** `memstore_…`, of all stores. */
  readonly storeIds: readonly string[]
  /** Works with a store; rejects with `not_found` if it has been deleted. */
  readonly use: (
    storeId: string,
    work: (store: MemoryStore) => Promise<boolean>,
  ) => Promise<boolean>
  /** The new one, `GLKO1-…`. */
  readonly operatorSecret: string
  /** In whose name the stores are changed. */
  readonly actor: Actor
}

export interface RotationReport {
  /** Their earlier recovery keys open nothing that is written from now on. */
  readonly rotated: number
  /** Stores that only the new secret recovered before. */
  readonly unchanged: number
  readonly failed: readonly { readonly storeId: string; readonly error: StoreError }[]
}

/** One store after another; a failure does not keep the others. Throws `cancelled`. */
export async function rotateOperator(rotation: Rotation): Promise<RotationReport> {
  const { storeIds, use, operatorSecret, actor, progress, signal } = rotation
  const failed: { readonly storeId: string; readonly error: StoreError }[] = []
  let [rotated, unchanged] = [0, 0]
  const rotate = async (store: MemoryStore): Promise<boolean> => {
    if (await store.devices.isRecoveredBy(operatorSecret)) return false
    const made = await store.as({ actor }).keys.makeRecoveryKey({ operatorSecret })
    if (made.pending !== undefined) throw made.pending
    return true
  }
  for (const [done, storeId] of storeIds.entries()) {
    progress?.(done, storeIds.length)
    checkNotCancelled(signal)
    try {
      if (await use(storeId, rotate)) rotated += 1
      else unchanged += 1
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
      if (error.code !== 'not_found') failed.push({ storeId, error })
    }
  }
  progress?.(storeIds.length, storeIds.length)
  return { rotated, unchanged, failed }
}

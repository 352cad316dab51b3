// Whether an object can be collected: by a full collection, as V8 itself would make it later.

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Tries a few times, since promises are released late. */
export async function areCollected(refs: readonly WeakRef<object>[]): Promise<boolean> {
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  if (typeof collect !== 'function') return false
  for (let round = 0; round < 10; round += 1) {
    collect()
    if (refs.every((ref) => ref.deref() === undefined)) return true
    await new Promise((resolve) => setImmediate(resolve))
  }
  return false
}

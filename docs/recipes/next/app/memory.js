// The store of the application, opened by the first request that needs it: while `next build` runs,
// it evaluates the routes too, and is to open nothing.

import { openDefaultStore } from 'gitlocket'

/**
 * Lasts while the development server loads this file anew after each edit.
 * @type {typeof globalThis & { memoryStore?: ReturnType<typeof openDefaultStore> }}
 */
const kept = globalThis

export function memoryStore() {
  kept.memoryStore ??= openDefaultStore().catch((error) => {
    // The next request tries again.
    kept.memoryStore = undefined
    throw error
  })
  return kept.memoryStore
}

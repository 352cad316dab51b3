// A sync that no user waits for, of a server or a hook: with every remote, one after the other,
// without questions, progress or output.

import type { Author } from '../../store/commits/commit-context.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import type { Context } from '../call/command.ts'
import { remoteAccess } from '../machine/remote-access.ts'

/** The error of each remote by its name, undefined after a success. Stops at `signal`. */
export async function syncQuietly(
  context: Context,
  store: MemoryStore,
  actor: string,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, unknown>> {
  const author: Author = { actor: { type: 'service_account', id: actor } }
  const access = remoteAccess(context)
  const outcomes = new Map<string, unknown>()
  for (const { name: remote } of await store.remotes.list()) {
    try {
      await store.as(author).sync({ remote, access, signal })
      outcomes.set(remote, undefined)
    } catch (error) {
      if (signal.aborted) return outcomes
      outcomes.set(remote, error)
    }
  }
  return outcomes
}

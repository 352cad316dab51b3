// Stores for tests: in a temporary directory, with a clock that the test moves.

import {
  type Author,
  type CreateOptions,
  createStore,
  generateIdentity,
  type Identity,
  type MemoryStore,
  type OpenOptions,
  openStore,
} from '../../src/index.ts'
import { argon2, type StretchParameters } from '../../src/limits.ts'
import type { StoreHandle } from '../../src/store/store-handle.ts'
import { temporaryDirectory } from './temporary.ts'

export const author: Author = { actor: { type: 'session', id: 'agent-1' }, session: 'agent-1' }

/** The least that the format allows, in a fifth of the time. */
export const leastStretch: StretchParameters = {
  passes: argon2.passes.floor,
  memoryKiB: argon2.memoryKiB.floor,
}

export interface TestPlace {
  readonly directory: string
  readonly stateDirectory: string
  readonly identity: Identity
  readonly recoveryKey: string
}

/**
 * A new store, without the guard, which most tests are not about. Close it in the test, or leave it
 * to the end of the process.
 */
export async function newStore(
  options: Partial<Omit<CreateOptions, 'owners'>> = {},
): Promise<{ readonly store: MemoryStore; readonly place: TestPlace }> {
  const root = temporaryDirectory()
  const identity = options.identity ?? (await generateIdentity())
  const at = { directory: `${root}/store`, stateDirectory: `${root}/state`, identity }
  const { store, recoveryKey } = await createStore({
    ...at,
    stretch: leastStretch,
    refuseSecrets: false,
    ...options,
  })
  return { store, place: { ...at, recoveryKey } }
}

/** Opens it again, as the same device unless told otherwise. */
export function reopen(place: TestPlace, options: Partial<OpenOptions> = {}): Promise<MemoryStore> {
  const { directory, stateDirectory, identity } = place
  return openStore({ directory, stateDirectory, identity, stretch: leastStretch, ...options })
}

/** Path → content of everything live. */
export async function contentsOf(store: StoreHandle): Promise<Record<string, string>> {
  const found: Record<string, string> = {}
  const pending = [await store.list('/')]
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    if (node.type === 'file') found[node.path] = (await store.read(node.path))?.content ?? ''
    pending.push(...node.children)
  }
  return found
}

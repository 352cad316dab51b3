// The stores of a server that a caller reaches through the memory tool. A store is held open for
// one command and no longer.

import { StoreError } from '../errors.ts'
import type { HostedStore } from '../hosting/catalogue.ts'
import type { Caller } from '../hosting/credentials.ts'
import type { Host } from '../hosting/host.ts'
import { mountNames } from '../hosting/mount-names.ts'
import { sessionStoresMax } from '../limits.ts'
import { hostOperation } from '../operations/hosted.ts'
import { objectField, parameters } from '../operations/schemas.ts'
import { idField } from '../operations/wire-fields.ts'
import type { Mount } from './mount.ts'
import { isFault } from './refusal.ts'
import { answerTool, commandRunner } from './run-command.ts'
import { ToolSpace } from './tool-space.ts'

/**
 * Of these stores, or of all that are attached to the session, by their names as they are now.
 * Throws `not_found` for a store that the caller cannot see, and `invalid_input` for an API key
 * that names none.
 */
export async function hostedMounts(
  host: Host,
  caller: Caller,
  storeIds?: readonly string[],
): Promise<readonly Mount[]> {
  const named = storeIds?.map((id) => host.get(caller, id))
  const stores = await (named ? Promise.all(named) : attachedStores(host, caller))
  const names = mountNames(stores)
  return stores.map((store, index) => {
    return mountOf(host, caller, store, names[index] ?? store.storeId)
  })
}

/** In the order in which they were attached. One that was deleted since is no longer there. */
async function attachedStores(host: Host, caller: Caller): Promise<readonly HostedStore[]> {
  const { attached } = caller
  if (attached === undefined) {
    const problem = 'Missing `memory_store_id` parameter: only a session has stores of its own'
    throw new StoreError('invalid_input', problem, { details: { parameter: 'memory_store_id' } })
  }
  const { data } = await host.list(caller, { includeArchived: true, limit: sessionStoresMax })
  const stores = [...attached.keys()].flatMap((id) => data.filter(({ storeId }) => storeId === id))
  if (stores.length > 0) return stores
  throw new StoreError('not_found', 'No memory store of the session is left')
}

function mountOf(host: Host, caller: Caller, store: HostedStore, name: string): Mount {
  const { storeId, description } = store
  const access = caller.attached?.get(storeId) ?? 'read_write'
  return {
    name,
    storeId,
    access,
    description,
    instructions: caller.instructions.get(storeId),
    root: '/',
    use: (work) => host.use(caller, storeId, (open, me) => work({ store: open, me, access })),
    follow: (work) => host.follow(caller, storeId, work),
  }
}

/** A store that is named is `/memories`; those of a session are directories of it. */
export const runMemoryTool = hostOperation({
  name: 'the memory tool',
  effect: 'write',
  input: parameters({
    input: objectField('the input of the memory tool as the model wrote it'),
    memory_store_id: idField('the memory store').nullish(),
  }),
  run: async ({ host, caller }, { input, memory_store_id: storeId }) => {
    const isOne = typeof storeId === 'string'
    const mounts = await hostedMounts(host, caller, isOne ? [storeId] : undefined)
    const run = commandRunner(ToolSpace.of(mounts, isOne))
    return { ...(await answerTool(run, () => input, isFault)) }
  },
})

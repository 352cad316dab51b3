// Servers that share one store over a log: each has a replica and a state directory of its own, and
// all have the same identity.

import type { SharedLog } from '../../src/git/replica/shared-log.ts'
import {
  type CreateOptions,
  generateIdentity,
  type Identity,
  type MemoryStore,
  type OpenOptions,
  openStore,
} from '../../src/index.ts'
import { createStoreAt } from '../../src/store/create.ts'
import type { OwnFiles } from '../../src/store/local/own-files.ts'
import { leastStretch } from './stores.ts'
import { temporaryDirectory } from './temporary.ts'

export interface SharedStore {
  readonly identity: Identity
  /** `memstore_…`. */
  readonly storeId: string
  readonly recoveryKey: string
}

/** The log of a store, as one server has it; `make` is called before the first. */
export interface LogEngine {
  make(storeId: string): Promise<void>
  server(): (storeId: string) => SharedLog
  /** What the device keeps for itself, if all servers have it. */
  ownFiles?(storeId: string): OwnFiles
}

/** Makes a store, and returns it as the first server has it. */
export async function newSharedStore(
  engine: LogEngine,
  options: Partial<Omit<CreateOptions, 'owners'>> = {},
): Promise<{ readonly store: MemoryStore; readonly shared: SharedStore }> {
  const identity = await generateIdentity()
  const { directory, stateDirectory } = placeOf()
  let id = ''
  const { store, recoveryKey = '' } = await createStoreAt(
    {
      stateDirectory,
      identity,
      stretch: leastStretch,
      refuseSecrets: false,
      ...placesIn(engine),
      ...options,
    },
    async (storeId) => {
      id = storeId
      await engine.make(storeId)
      return directory
    },
  )
  return { store, shared: { identity, storeId: id, recoveryKey } }
}

/** The store as one more server has it. */
export function openShared(
  engine: LogEngine,
  { identity, storeId }: SharedStore,
  place: ReturnType<typeof placeOf> = placeOf(),
  options: Partial<OpenOptions> = {},
): Promise<MemoryStore> {
  const given = { ...place, ...placesIn(engine), identity, storeId, stretch: leastStretch }
  return openStore({ ...given, ...options })
}

function placesIn(engine: LogEngine): Pick<OpenOptions, 'sharedLog' | 'ownFiles'> {
  const ownFiles = engine.ownFiles?.bind(engine)
  return { sharedLog: engine.server(), ...(ownFiles && { ownFiles }) }
}

export function placeOf(): { readonly directory: string; readonly stateDirectory: string } {
  const root = temporaryDirectory()
  return { directory: `${root}/replica`, stateDirectory: `${root}/state` }
}

// What the frame of the page shows of a store, whatever the view is.

import { isGuardOn } from '../../store/guard/guard.ts'
import type { MemoriesApi } from './contract-memories.ts'
import { nothing } from './fields.ts'
import type { ConsoleOperation, OperationsOf } from './operation.ts'

const overview: ConsoleOperation<'store.overview'> = {
  name: 'the overview',
  effect: 'read',
  input: nothing,
  run: async ({ store, access }) => {
    const status = await store.summary()
    const { settings, remotes, deviceName = '' } = status
    return {
      storeId: status.storeId,
      name: settings.name,
      description: settings.description,
      audience: 'member',
      access,
      archivedAt: settings.archivedAt,
      deviceId: status.deviceId,
      deviceName,
      role: status.role,
      head: status.head,
      headFingerprint: status.headFingerprint,
      commits: status.commits,
      memories: status.memories,
      contentBytes: status.contentBytes,
      remotes: remotes.map(({ name, url, unsent }) => ({ name, url, unsent })),
      guard: isGuardOn(settings),
    }
  },
}

export const overviewOperations: OperationsOf<Pick<MemoriesApi, 'store.overview'>> = {
  'store.overview': overview,
}

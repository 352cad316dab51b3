// What the frame of the page shows of a store, whatever the view is.

import type { Role } from '../../format/directory.ts'
import { isGuardOn } from '../../store/guard/guard.ts'
import type { RemoteStatus } from '../../store/sync/remote-state.ts'
import type { Access } from '../operation.ts'
import { nothing } from './fields.ts'
import { consoleOperation } from './operation.ts'

/** For an auditor, the name and everything else that an auditor cannot see is empty. */
export interface Overview {
  readonly storeId: string
  readonly name: string
  readonly description: string
  readonly audience: 'member' | 'auditor'
  readonly access: Access
  readonly archivedAt: number | undefined
  readonly deviceId: string
  readonly deviceName: string
  /** Undefined for a device that was removed. */
  readonly role: Role | undefined
  /** The newest commit, 40 hex digits, and its twelve words. All up to it is verified. */
  readonly head: string
  readonly headFingerprint: readonly string[]
  /** Undefined as long as the history has not been asked for. */
  readonly commits: number | undefined
  readonly memories: number
  readonly contentBytes: number
  /** `unsent`: commits that it lacked when it was last seen; undefined if it was never seen. */
  readonly remotes: readonly (Pick<RemoteStatus, 'name' | 'url'> &
    Partial<Pick<RemoteStatus, 'unsent'>>)[]
  /** Whether texts with what seems to be a secret are refused. */
  readonly guard: boolean
}

export const overviewOperations = {
  'store.overview': consoleOperation({
    name: 'the overview',
    effect: 'read',
    input: nothing,
    run: async ({ store, access }): Promise<Overview> => {
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
  }),
}

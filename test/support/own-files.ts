// What a device keeps for itself, for tests: in files at given paths, and in memory, shared by the
// handles of several servers as rows of a database are.

import type { Disk } from '../../src/disk/disk.ts'
import { systemDisk } from '../../src/disk/system-disk.ts'
import { OwnDirectory, type OwnFiles, type OwnName } from '../../src/store/local/own-files.ts'
import { temporaryDirectory } from './temporary.ts'

/** Files that are not named are in a directory of their own. */
export function ownDirectory({
  disk = systemDisk,
  ...paths
}: Partial<Record<OwnName, string>> & { readonly disk?: Disk }): OwnFiles {
  const other = temporaryDirectory()
  return new OwnDirectory(disk, {
    anchor: `${other}/anchor`,
    remotes: `${other}/remotes`,
    grants: `${other}/grants`,
    reads: `${other}/reads`,
    state: `${other}/state`,
    'state-changes': `${other}/state-changes`,
    ...paths,
  })
}

interface Row {
  /** Undefined once it was removed: the row remains, so that its revision does not repeat. */
  readonly bytes: Uint8Array | undefined
  readonly revision: number
  readonly writtenAt: number
}

/** The rows of one store. */
export class VolatileOwnRows {
  readonly rows: Map<OwnName, Row> = new Map()
  /** Called before each write and removal, which it may overtake. */
  beforeWrite: (name: OwnName) => Promise<void> = async () => undefined

  /** What one handle has of them. */
  handle(): OwnFiles {
    const seen = new Map<OwnName, number>()
    const revisionOf = (name: OwnName): number => this.rows.get(name)?.revision ?? 0
    const put = (name: OwnName, bytes: Uint8Array | undefined): void => {
      const revision = revisionOf(name) + 1
      this.rows.set(name, { bytes: bytes?.slice(), revision, writtenAt: Date.now() })
      seen.set(name, revision)
    }
    return {
      isShared: true,
      read: async (name) => {
        seen.set(name, revisionOf(name))
        return this.rows.get(name)?.bytes?.slice()
      },
      hasChanged: async (name) => revisionOf(name) !== (seen.get(name) ?? 0),
      write: async (name, bytes) => {
        await this.beforeWrite(name)
        if (revisionOf(name) !== (seen.get(name) ?? 0)) return false
        put(name, bytes)
        return true
      },
      remove: async (name) => {
        await this.beforeWrite(name)
        put(name, undefined)
      },
      writtenAt: async (name) => this.rows.get(name)?.writtenAt,
    }
  }
}

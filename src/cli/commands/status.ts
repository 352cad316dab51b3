// `status` and `verify`: how the store is, and whether its whole history is what it claims.

import type { MemoryStore, StoreStatus } from '../../store/memory-store.ts'
import type { Answer, Input } from '../command.ts'
import { withStore } from '../context.ts'
import type { Context } from '../context.ts'
import { withProgress } from '../progress.ts'
import { countText, sizeText } from '../sizes.ts'
import { timestamp } from '../wire.ts'

export function status(context: Context): Promise<Answer> {
  return withStore(context, async (store) => {
    const found = await store.status()
    return { text: statusText(context, found), json: statusJson(context, found) }
  })
}

export function verify(context: Context, input: Input): Promise<Answer> {
  const { signal } = context.interrupts
  const acceptRolledBack = input.flag('accept-rolled-back')
  const work = async (store: MemoryStore): Promise<Answer> => {
    const report = await withProgress(context, 'Verifying', (progress) =>
      store.verify({ progress, signal }),
    )
    const { commits, versions, memories, head } = report
    return {
      text:
        `Verified ${countText(commits, 'commit', 'commits')}, ` +
        `${countText(versions, 'version', 'versions')} and ` +
        `${countText(memories, 'memory', 'memories')}; the head is ${head}\n`,
      json: { verified: true, commits, versions, memories, head },
    }
  }
  return withStore(context, work, { acceptRolledBack })
}

function statusText(context: Context, found: StoreStatus): string {
  const { storage, settings } = found
  const { journalFrames, journalBytes, packs } = storage
  const waiting = countText(journalFrames, 'commit', 'commits')
  const packed = packs.reduce((sum, pack) => sum + pack.bytes, 0)
  const { contentBytes, memories } = settings.limits
  const archived =
    settings.archivedAt === undefined ? [] : [`Archived   ${timestamp(settings.archivedAt)}`]
  return [
    `Store      ${context.environment.storeDirectory}`,
    `Id         ${found.storeId}`,
    `Name       ${settings.name}`,
    `Device     ${found.deviceId} (${found.role})`,
    `Memories   ${found.memories.toLocaleString('en')}, ${sizeText(found.contentBytes)}`,
    `History    ${countText(found.commits, 'commit', 'commits')}, head ${found.head}`,
    `Epochs     ${found.epochs}`,
    `Limits     ${contentBytes.toLocaleString('en')} bytes per memory, ` +
      `${memories.toLocaleString('en')} memories`,
    `Packs      ${packs.length}, ${sizeText(packed)}`,
    `Journal    ${waiting} not packed yet, ${sizeText(journalBytes)}`,
    ...archived,
    '',
  ].join('\n')
}

function statusJson(context: Context, found: StoreStatus): Readonly<Record<string, unknown>> {
  const { storage, settings } = found
  const { lockOwner, checkpointError } = storage
  return {
    store: context.environment.storeDirectory,
    memory_store_id: found.storeId,
    name: settings.name,
    description: settings.description,
    metadata: settings.metadata,
    archived_at: settings.archivedAt === undefined ? null : timestamp(settings.archivedAt),
    device_id: found.deviceId,
    role: found.role,
    memories: found.memories,
    content_size_bytes: found.contentBytes,
    commits: found.commits,
    head: found.head,
    epochs: found.epochs,
    limits: {
      content_size_bytes: settings.limits.contentBytes,
      memories: settings.limits.memories,
    },
    storage: {
      journal_bytes: storage.journalBytes,
      journal_frames: storage.journalFrames,
      packs: storage.packs,
      loose_objects: storage.looseObjects,
      lock_pid: lockOwner?.pid ?? null,
      checkpoint_error: checkpointError?.code ?? null,
    },
  }
}

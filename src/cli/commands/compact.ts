// `compact`: merges everything into one pack. Drops only objects that redactions have condemned.

import type { StoreStatus } from '../../store/store-report.ts'
import type { Answer } from '../command.ts'
import type { Context } from '../context.ts'
import { withStore } from '../open-store.ts'
import { withProgress } from '../progress.ts'
import { countText, sizeText } from '../sizes.ts'

type Storage = StoreStatus['storage']

export function compact(context: Context): Promise<Answer> {
  const { signal } = context.interrupts
  return withStore(context, async (store) => {
    const ending = 'Ended; the packs are unchanged'
    const { before, after } = await context.interrupts.patiently(ending, () =>
      withProgress(context, 'Compacting', (progress) =>
        store.maintenance.compact({ progress, signal }),
      ),
    )
    return {
      text: `Before  ${storageText(before)}\nAfter   ${storageText(after)}\n`,
      json: { before: storageJson(before), after: storageJson(after) },
    }
  })
}

function storageText(storage: Storage): string {
  const { packs, journalBytes } = storage
  const packed = `${countText(packs.length, 'pack', 'packs')}, ${sizeText(packedBytes(storage))}`
  return journalBytes === 0 ? packed : `${packed}; journal ${sizeText(journalBytes)}`
}

export function packedBytes({ packs }: Storage): number {
  return packs.reduce((sum, pack) => sum + pack.bytes, 0)
}

export function storageJson(storage: Storage): Readonly<Record<string, unknown>> {
  const { lockOwner, checkpointError } = storage
  return {
    journal_bytes: storage.journalBytes,
    journal_frames: storage.journalFrames,
    packs: storage.packs,
    pack_bytes: packedBytes(storage),
    loose_objects: storage.looseObjects,
    objects_to_erase: storage.purgePending,
    lock_pid: lockOwner?.pid ?? null,
    checkpoint_error: checkpointError?.code ?? null,
  }
}

// `compact`: merges everything into one pack. Drops only objects that redactions have condemned.

import type { Wire } from '../../operations/wire.ts'
import type { StoreStatus } from '../../store/store-report.ts'
import type { Answer, Command, Context } from '../call/command.ts'
import { withStore } from '../store/open-store.ts'
import { foreignListsParagraph } from '../store/residue.ts'
import { withProgress } from '../terminal/progress.ts'
import { wire } from '../text/wire.ts'
import { countText, sizeText } from '../text/words.ts'

export const commands: readonly Command[] = [
  {
    name: 'compact',
    summary: 'Merge all packs and loose objects into one pack',
    notes: [
      'Other processes can read and write during it. Also erases what earlier redactions could ' +
        'not erase. Ctrl-C leaves the packs unchanged.',
    ],
    run: compact,
  },
]

type Storage = StoreStatus['storage']

function compact(context: Context): Promise<Answer> {
  return withStore(context, async (store) => {
    const ending = 'Ended; the packs are unchanged'
    const { before, after } = await context.interrupts.patiently(ending, () =>
      withProgress(context, 'Compacting', (options) => store.maintenance.compact(options)),
    )
    return {
      text: [
        `Before  ${storageText(before)}`,
        `After   ${storageText(after)}`,
        ...foreignListsParagraph(after.foreignPurges),
        '',
      ].join('\n'),
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

export function storageJson(storage: Storage): Wire {
  const { journalBytes, journalFrames, packs, looseObjects, lockOwner, checkpointError } = storage
  return wire({
    journalBytes,
    journalFrames,
    packs,
    packBytes: packedBytes(storage),
    looseObjects,
    objectsToErase: storage.purgePending,
    foreignLists: storage.foreignPurges,
    lockPid: lockOwner?.pid,
    checkpointError: checkpointError?.code,
  })
}

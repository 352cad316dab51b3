// Which conflicts the user of this device has looked at: the ids of their versions, one a line, in
// a file of the state directory. It is a note for people, no part of the store, and may get lost.

import { closeSync, constants, fstatSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { StoreError } from '../../errors.ts'
import { attempt, findTextFile } from '../../home/files.ts'
import type { Conflict } from '../../store/history/conflicts.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import type { Context } from '../call/command.ts'

const { O_WRONLY, O_CREAT, O_APPEND, O_NOFOLLOW, O_NONBLOCK } = constants

/** Version ids, `memver_…`. Other lines are ignored. */
export function readSeen(context: Context, store: MemoryStore): ReadonlySet<string> {
  const text = findTextFile('the conflicts looked at', pathOf(context, store), false) ?? ''
  return new Set(text.split('\n').filter((line) => /^memver_[0-9a-z]{26}$/.test(line)))
}

/** As many are looked for; those beyond are found once these are settled. */
export const CONFLICTS_MAX = 10_000

/** Those that no user of this device has marked as looked at, newest first. */
export async function findUnseen(
  context: Context,
  store: MemoryStore,
): Promise<readonly Conflict[]> {
  const seen = readSeen(context, store)
  const all = await store.history.conflicts({ limit: CONFLICTS_MAX })
  return all.filter(({ versionId }) => !seen.has(versionId))
}

export function markSeen(
  context: Context,
  store: MemoryStore,
  versionIds: readonly string[],
): void {
  const path = pathOf(context, store)
  attempt('write the conflicts looked at', path, () => {
    const file = openSync(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK, 0o600)
    try {
      if (!fstatSync(file).isFile()) {
        throw new StoreError('storage_failed', `Could not write to ${path}: it is not a file`)
      }
      writeSync(file, versionIds.map((id) => `${id}\n`).join(''))
    } finally {
      closeSync(file)
    }
  })
}

function pathOf({ environment }: Context, store: MemoryStore): string {
  return join(environment.stateDirectory, `seen-conflicts-${store.id}`)
}

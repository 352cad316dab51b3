// A file that an agent program has just written: its session becomes the author of the version, so
// that `undo` can take it back. Files outside of all mirrors are left alone.

import { realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { systemDisk } from '../../disk/system-disk.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import type { Context } from '../call/command.ts'
import type { Mirror } from './mirror-state.ts'
import { mirrorFiles, runnerOf } from './mirrors.ts'
import { pathOf } from './survey.ts'

/** Whether any store of this user has a mirror. Opens none. */
export function hasMirrors({ environment: { stateDirectory } }: Context): boolean {
  return systemDisk
    .list(stateDirectory)
    .some((store) => systemDisk.list(join(stateDirectory, store)).some(isListOfMirrors))
}

/** Whether a mirror has the file. */
export async function saveWrittenFile(
  context: Context,
  store: MemoryStore,
  { file, session }: { readonly file: string; readonly session: string },
): Promise<boolean> {
  const path = findReal(file)
  if (path === undefined) return false
  const mirror = mirrorOf(mirrorFiles(context, store.id).list(), path)
  if (mirror === undefined) return false
  const only = pathOf(path.slice(mirror.directory.length + 1))
  const runner = runnerOf(context, store, mirror)
  try {
    await runner.run({ only, settleMs: 0, author: { actor: { type: 'session', id: session } } })
    return true
  } finally {
    await runner.close()
  }
}

function isListOfMirrors(name: string): boolean {
  return name.endsWith('.mirrors')
}

function mirrorOf(mirrors: readonly Mirror[], file: string): Mirror | undefined {
  return mirrors.find(({ directory, isPaused }) => !isPaused && file.startsWith(`${directory}/`))
}

/** Undefined if its directory does not exist. */
function findReal(file: string): string | undefined {
  try {
    return join(realpathSync(dirname(file)), basename(file))
  } catch {
    return undefined
  }
}

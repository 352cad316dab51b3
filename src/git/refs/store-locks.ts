// The two locks among the processes that have one store open. A checkpoint takes both, its own
// first. Must not take either.

import { ProcessLock } from '../../disk/process-lock.ts'
import type { GitFileLockContext } from './git-file-lock.ts'

/** Held to change the journal, or the list of dead objects; its mark names the last holder. */
export function writerLock(files: GitFileLockContext): ProcessLock {
  const mark = `${files.ownDirectory}/last-writer`
  return new ProcessLock({ ...files, path: `${files.ownDirectory}/lock`, mark, purpose: 'writer' })
}

/** Held to pack the journal, to merge packs and to erase. */
export function checkpointLock(files: GitFileLockContext): ProcessLock {
  const path = `${files.ownDirectory}/checkpoint.lock`
  return new ProcessLock({ ...files, path, purpose: 'checkpoint' })
}

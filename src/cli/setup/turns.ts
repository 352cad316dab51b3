// Lets one process of this user after the other change files outside every store: the settings of
// agent programs, and the notes about their sessions. Reading a file, deciding what it should hold
// and replacing it is one turn. The lock is in the state directory, so that nothing of it appears
// next to files of other programs; those programs do not know it.

import { join } from 'node:path'
import { systemRandom } from '../../crypto/random.ts'
import { LockIdentity, ProcessLock, sweepOwners } from '../../disk/process-lock.ts'
import { systemDisk as disk } from '../../disk/system-disk.ts'
import { hasCode, StoreError } from '../../errors.ts'
import { attempt, makeDirectory } from '../../home/files.ts'
import { lockWaitMsDefault } from '../../limits.ts'
import type { Environment } from '../call/environment.ts'

/** Throws `locked` if another process does not end its turn, and a storage code. */
export async function inTurn<T>(
  { stateDirectory }: Pick<Environment, 'stateDirectory'>,
  work: () => Promise<T>,
): Promise<T> {
  const directory = join(stateDirectory, 'turns')
  attempt('make the directory of a lock', directory, () => makeDirectory(directory))
  const random = systemRandom
  const identity = new LockIdentity(disk, directory, random)
  const path = join(directory, 'lock')
  const lock = new ProcessLock({ disk, identity, path, random, purpose: 'set-up' })
  try {
    return await lock.hold(lockWaitMsDefault, async () => {
      await sweepOwners(disk, directory)
      return work()
    })
  } catch (error) {
    if (!hasCode(error, 'locked')) throw error
    const problem = `Another process has held ${path} for long: end it, then run this again`
    throw new StoreError('locked', problem, { cause: error })
  } finally {
    lock.abandon()
    await identity.remove()
  }
}

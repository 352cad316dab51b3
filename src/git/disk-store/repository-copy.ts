// Holds a repository still while someone copies its files, also next to the process that has it
// open: first packs alone, while writers continue, then the rest, while they wait. Must not copy.

import { lockWaitMsDefault, purgeWaitMs } from '../../limits.ts'
import { journalNames } from '../journal/journal-survey.ts'
import { intentPattern } from '../purge/purge-intent.ts'
import { checkpointLock } from '../refs/git-file-lock.ts'
import { checkRepository, makeOwnDirectory, ownDirectoryName } from '../refs/repository.ts'
import { type DiskObjectStoreOptions, openStoreParts } from './store-parts.ts'

export interface CopySteps {
  /** Packs are added in the meantime, and none is changed or removed. */
  readonly packs: () => Promise<void>
  /** Nothing is changed. */
  readonly rest: () => Promise<void>
}

/** Throws what `checkRepository` throws, `locked`, and what the steps throw. */
export async function holdStill(options: DiskObjectStoreOptions, steps: CopySteps): Promise<void> {
  const { files, lock } = openStoreParts(options)
  checkRepository(files.disk, files.directory, options)
  await makeOwnDirectory(files)
  try {
    // As long as a redaction may need to erase.
    await checkpointLock(files).hold(purgeWaitMs, async () => {
      await steps.packs()
      await lock.hold(lockWaitMsDefault, () => steps.rest())
    })
  } finally {
    await files.identity.remove()
  }
}

/** Whether a file, by its path in the repository, is one of a complete copy. */
export function isOfCopy(path: string): boolean {
  const [first, second = ''] = path.split('/')
  if (first === ownDirectoryName) {
    // The rest is of running processes, or can be made again.
    return journalNames.some((name) => name === second) || intentPattern.test(second)
  }
  return first !== 'hooks' && !/\.lock$|(?:^|\/)tmp_[^/]*$/.test(path)
}

// The contract of OwnFiles, on each implementation.

import { ownDirectory, VolatileOwnRows } from '../support/own-files.ts'
import { temporaryDirectory } from '../support/temporary.ts'
import { describeOwnFiles, describeSharedOwnFiles } from './own-files.contract.ts'

describeOwnFiles('in a directory', async () => {
  const root = temporaryDirectory()
  const paths = {
    anchor: `${root}/state/device.anchor`,
    remotes: `${root}/state/device.remotes`,
    reads: `${root}/store/cache/reads`,
    state: `${root}/store/cache/state`,
    'state-changes': `${root}/store/cache/state-changes`,
  }
  return () => ownDirectory(paths)
})

const inMemory = async () => {
  const rows = new VolatileOwnRows()
  return () => rows.handle()
}
describeOwnFiles('in memory', inMemory)
describeSharedOwnFiles('in memory', inMemory)

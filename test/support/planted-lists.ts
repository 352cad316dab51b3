// Closed stores in whose directories an attacker plants a list of objects to erase, or spoils one,
// and the traces of them once they were used.

import { expect } from 'vitest'
import { type Identity, openStore } from '../../src/index.ts'
import { author, contentsOf } from './stores.ts'
import { copyDirectory, git, temporaryDirectory } from './temporary.ts'
import { verdictOf } from './verdict.ts'

export interface Site {
  readonly directory: string
  readonly stateDirectory: string
  readonly identity: Identity
}

/** Where a list lies, below the directory of the store. */
export const list = 'gitlocket/purge-0123456789abcdef'

/** The memories of the stores. */
export const contents = { '/a.md': 'two\n', '/b.md': 'b\n' } as const

/** A copy that a test may spoil. */
export function copySite({ directory, stateDirectory, identity }: Site): Site {
  const copy = temporaryDirectory()
  copyDirectory(directory, `${copy}/store`)
  copyDirectory(stateDirectory, `${copy}/state`)
  return { directory: `${copy}/store`, stateDirectory: `${copy}/state`, identity }
}

/** Writes, checkpoints and closes: one verdict, or two if that on closing differs. */
export async function use(at: Site): Promise<string> {
  const store = await openStore(at)
  const checkpoint = await verdictOf(async () => {
    await store.as(author).write('/new.md', 'new')
    await store.maintenance.checkpoint()
  })
  const closed = await verdictOf(() => store.close())
  return closed === checkpoint ? closed : `${checkpoint}, ${closed}`
}

/** The store has its memories and what `use` has written, and lacks no object. */
export async function expectWhole(at: Site): Promise<void> {
  git(['fsck', '--strict', '--full'], at.directory)
  const store = await openStore(at)
  await store.maintenance.verify()
  expect(await contentsOf(store)).toEqual({ ...contents, '/new.md': 'new' })
  await store.close()
}

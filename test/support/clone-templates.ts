// Clones that are made once per file of tests, and copied for each test: to join costs ten times as
// much as to open a copy. Must not be used where the joining itself is what a test is about.

import { mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { bareRemote, type Clone, copyOf } from './clones.ts'
import { copyDirectory, sharedDirectory, temporaryDirectory } from './temporary.ts'

/** Clones by what a test calls them, and the directory of the bare remote that they share. */
export type World<Name extends string> = Readonly<Record<Name, Clone> & Record<'remote', string>>

/**
 * Makes copies of the clones that `make` makes around the remote with the given address. Call it
 * outside of tests, and use one world at a time: the clones know their remote by a link, which
 * points to that of the newest world.
 */
export function worldsOf<Name extends string>(
  make: (url: string) => Promise<Readonly<Record<Name, Clone>>>,
): () => Promise<World<Name>> {
  const directory = sharedDirectory()
  const link = join(directory, 'link')
  const template = join(directory, 'remote.git')
  let first: Promise<readonly (readonly [string, Clone])[]> | undefined
  const makeFirst = async (): Promise<readonly (readonly [string, Clone])[]> => {
    renameSync(bareRemote(), template)
    symlinkSync(template, link)
    const made = Object.entries<Clone>(await make(link))
    const moves = made.map(
      async ([name, one]) => [name, await moved(one, directory, name)] as const,
    )
    return Promise.all(moves)
  }
  return async () => {
    first ??= makeFirst()
    const clones = await first
    const remote = join(temporaryDirectory(), 'remote.git')
    copyDirectory(template, remote)
    rmSync(link)
    symlinkSync(remote, link)
    const copies: Record<string, Clone | string> = { remote }
    for (const [name, one] of clones) copies[name] = await copyOf(one)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- one for each name, as made
    return copies as World<Name>
  }
}

/** Closed, and in directories that outlive the test. */
async function moved({ store, place }: Clone, directory: string, name: string): Promise<Clone> {
  await store.close()
  const root = join(directory, name)
  const at = { ...place, directory: join(root, 'store'), stateDirectory: join(root, 'state') }
  mkdirSync(root)
  renameSync(place.directory, at.directory)
  renameSync(place.stateDirectory, at.stateDirectory)
  return { store, place: at }
}

// The world of a soak: a store, its second clone, and the bare repository between them.

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  createStore,
  formatDeviceCard,
  formatIdentity,
  generateIdentity,
  type Identity,
  joinStore,
} from 'gitlocket'
import { run } from '../bench/machine.ts'
import type { ClonePlace } from './child.ts'

export interface World {
  readonly remote: string
  readonly places: readonly [ClonePlace, ClonePlace]
}

const author = { actor: { type: 'user', id: 'soak' } } as const

export async function makeWorld(directory: string): Promise<World> {
  const remote = join(directory, 'remote.git')
  run('git', ['init', '--quiet', '--bare', '--initial-branch=main', remote], { cwd: directory })
  const [first, second] = [await generateIdentity(), await generateIdentity()]
  const places = [newPlace(directory, 'a', first), newPlace(directory, 'b', second)] as const
  const limits = { memories: 1_000_000 }
  const { store } = await createStore({ ...places[0], identity: first, limits })
  await store.remotes.add('origin', remote)
  await store.as(author).devices.add(formatDeviceCard(second), 'writer')
  await store.as(author).sync()
  const url = `${remote}#${(await store.status()).address}`
  await store.close()
  const joined = await joinStore({ ...places[1], identity: second, url, author })
  await joined.close()
  return { remote, places }
}

function newPlace(root: string, name: string, identity: Identity): ClonePlace {
  const directory = join(root, name)
  mkdirSync(directory)
  const identityFile = join(directory, 'identity')
  writeFileSync(identityFile, formatIdentity(identity), { mode: 0o600 })
  return {
    directory: join(directory, 'store'),
    stateDirectory: join(directory, 'state'),
    identityFile,
  }
}

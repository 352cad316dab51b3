// Machines that share a store, made by the library in this process: a test of one command need not
// pay for all those before it.

import { cpSync, mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import {
  createStore,
  formatIdentity,
  generateIdentity,
  type Identity,
  joinStore,
} from '../../src/index.ts'
import { storeIdAt } from '../support/clones.ts'
import { author, leastStretch } from '../support/stores.ts'
import { git, sharedDirectory, temporaryDirectory } from '../support/temporary.ts'
import { copiesOf, Home, newHome } from './cli-process.ts'

export interface FirstMachine {
  readonly home: Home
  readonly recoveryKey: string
}

/** A store with /notes.md of three lines, synced with the remote `origin`. */
export async function firstMachine(url: string, home: Home = newHome()): Promise<FirstMachine> {
  const { store, recoveryKey } = await createStore(await placesOf(home))
  const content = 'one\ntwo\nthree\n'
  await store.as(author).apply([{ type: 'create', path: '/notes.md', content }])
  await store.remotes.add('origin', url)
  await store.as(author).sync()
  await store.close()
  return { home, recoveryKey }
}

export const passphrase = 'correct horse battery'

/** Made with an Argon2id that takes a fifth of the time; the file `old` holds the passphrase. */
export const homeWithPassphrase: () => Promise<Home> = copiesOf(async (home) => {
  home.file('old', `${passphrase}\n`)
  const options = { ...(await placesOf(home)), passphrase, stretch: leastStretch }
  const { store } = await createStore(options)
  await store.close()
})

/** One more machine of the same store, with the recovery key. */
export async function nextMachine(
  { recoveryKey, home: first }: Pick<FirstMachine, 'recoveryKey'> & Partial<FirstMachine>,
  url: string,
  home: Home = newHome(),
): Promise<Home> {
  const storeId = storeIdAt(first?.store ?? url)
  const trusted = { storeId, trustFirstContact: async () => true }
  const store = await joinStore({ ...(await placesOf(home)), ...trusted, url, recoveryKey, author })
  await store.close()
  return home
}

/** The address of a remote that names the store of this machine, and its newest state. */
export async function pinned(home: Home, url: string): Promise<string> {
  return `${url}#${String((await home.json('status'))['address'])}`
}

export interface PairOfMachines {
  readonly first: Home
  readonly second: Home
  readonly recoveryKey: string
  /** The directory of the bare repository. */
  readonly remote: string
}

/**
 * Makes pairs of machines that are in step, as copies of a pair that is made once per file of
 * tests. Call it outside of tests, and use one pair at a time: the machines know their remote by a
 * link, which points to that of the newest pair.
 */
export function pairsOfMachines(): () => Promise<PairOfMachines> {
  const directory = sharedDirectory()
  const link = join(directory, 'link')
  let recoveryKey: Promise<string> | undefined
  const copyOf = (name: string): Home => {
    const home = newHome()
    cpSync(join(directory, name), home.directory, { recursive: true })
    return home
  }
  return async () => {
    recoveryKey ??= makePair(directory, link)
    const common = { recoveryKey: await recoveryKey }
    const remote = join(temporaryDirectory(), 'remote.git')
    cpSync(join(directory, 'remote.git'), remote, { recursive: true })
    rmSync(link)
    symlinkSync(remote, link)
    return { first: copyOf('first'), second: copyOf('second'), remote, ...common }
  }
}

/** Returns the recovery key. */
async function makePair(directory: string, link: string): Promise<string> {
  const remote = join(directory, 'remote.git')
  git(['init', '--quiet', '--bare', '--initial-branch=main', remote], '/')
  symlinkSync(remote, link)
  const homes = ['first', 'second'].map((name) => new Home(join(directory, name)))
  for (const home of homes) mkdirSync(home.directory)
  const { recoveryKey } = await firstMachine(link, homes[0])
  await nextMachine({ recoveryKey }, link, homes[1])
  await homes[0]?.ok('sync')
  return recoveryKey
}

/** Where the command line looks on this machine, with a new identity there. */
async function placesOf(home: Home): Promise<{
  readonly directory: string
  readonly stateDirectory: string
  readonly identity: Identity
}> {
  const identity = await generateIdentity()
  home.file('.config/gitlocket/identity', formatIdentity(identity))
  return { directory: home.store, stateDirectory: home.stateDirectory, identity }
}

/** A card of a machine without a store, as a file on the machine of `home`. */
export async function newCard(home: Home): Promise<{ other: Home; file: string; id: string }> {
  const other = newHome()
  const answer = await other.call(['device', 'card', '--name', 'berta', '--json'])
  const { card, device_id: id } = JSON.parse(answer.stdout)
  return { other, file: home.file('card', card), id }
}

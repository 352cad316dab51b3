// Clones of one store around a bare remote, each a machine of its own: its directory, its state
// directory, its identity. The remote is a plain git repository that no code of ours maintains.

import { formatId } from '../../src/format/id.ts'
import {
  formatDeviceCard,
  generateIdentity,
  type Identity,
  type JoinOptions,
  joinStore,
  type MemoryStore,
  openStore,
  type Role,
  type SyncReport,
} from '../../src/index.ts'
import { author, leastStretch, newStore, type TestPlace } from './stores.ts'
import { copyDirectory, git, temporaryDirectory } from './temporary.ts'

export interface Clone {
  readonly place: TestPlace
  readonly store: MemoryStore
}

/** An empty bare repository, as a host makes it. */
export function bareRemote(): string {
  const directory = `${temporaryDirectory()}/remote.git`
  git(['init', '--quiet', '--bare', '--initial-branch=main', directory], '/')
  return directory
}

/** The first machine: a new store with the remote `origin`, not synced yet. */
export async function firstClone(url: string): Promise<Clone> {
  const { store, place } = await newStore()
  await store.remotes.add('origin', url)
  return { store, place }
}

/** A joining device accepts the state that the remote shows as the newest. */
export const trusting = { trustFirstContact: async (): Promise<boolean> => true }

/** One more machine, with the recovery key unless told otherwise. */
export async function joinClone(
  first: Pick<Clone, 'place'> & Partial<Clone>,
  url: string,
  options: Partial<JoinOptions> = {},
): Promise<Clone> {
  const root = temporaryDirectory()
  const { recoveryKey } = first.place
  const identity = options.identity ?? (await generateIdentity())
  const at = { directory: `${root}/store`, stateDirectory: `${root}/state`, identity }
  const secret = 'identity' in options ? {} : { recoveryKey }
  const store = await joinStore({
    url,
    author,
    stretch: leastStretch,
    storeId: first.store?.id ?? storeIdAt(url),
    ...trusting,
    ...secret,
    ...at,
    ...options,
  })
  return { store, place: { ...at, recoveryKey } }
}

/** The id, `memstore_…`, that a bare repository shows in public. */
export function storeIdAt(directory: string): string {
  return JSON.parse(git(['show', 'main:store.json'], directory)).store
}

/** Opens a copy of a clone's files, as a backup or a copied machine has them. */
export async function copyOf({ place }: Pick<Clone, 'place'>): Promise<Clone> {
  const root = temporaryDirectory()
  copyDirectory(place.directory, `${root}/store`)
  copyDirectory(place.stateDirectory, `${root}/state`)
  const at = { ...place, directory: `${root}/store`, stateDirectory: `${root}/state` }
  const { directory, stateDirectory, identity } = at
  return {
    store: await openStore({ directory, stateDirectory, identity, stretch: leastStretch }),
    place: at,
  }
}

/** A remote with the address of a clone's present state behind it. */
export async function addressOf({ store }: Pick<Clone, 'store'>, remote: string): Promise<string> {
  return `${remote}#${(await store.status()).address}`
}

/** What others call the device of a clone. */
export function idOf({ place }: Pick<Clone, 'place'>): string {
  return formatId('device', place.identity.deviceId)
}

/** Creates a memory, or replaces its content; the version. */
export async function put(
  { store }: Pick<Clone, 'store'>,
  path: string,
  content: string = path,
): Promise<string> {
  const isThere = (await store.read(path)) !== undefined
  const edit = { type: 'edit', path, edit: () => content } as const
  const change = isThere ? edit : ({ type: 'create', path, content } as const)
  const { versionIds } = await store.as(author).apply([change])
  return versionIds[0] ?? ''
}

/** Lets a device in that has no clone yet, and tells no remote. */
export async function admit(
  { store }: Pick<Clone, 'store'>,
  role: Role,
  identity?: Identity,
): Promise<Identity> {
  const admitted = identity ?? (await generateIdentity())
  await store.as(author).devices.add(formatDeviceCard(admitted), role, alone)
  return admitted
}

/** Has the keyring change here alone, as where a host hides what others have changed. */
export const alone = { alone: true } as const

export function sync({ store }: Pick<Clone, 'store'>): Promise<SyncReport> {
  return store.as(author).sync()
}

/** Syncs all clones until none of them has anything new. */
export async function syncAll(clones: readonly Clone[]): Promise<void> {
  for (let moved = true, rounds = 0; moved; rounds += 1) {
    if (rounds > 2 * clones.length) throw new Error('The clones do not come to rest')
    moved = false
    for (const clone of clones) {
      const { received, sent } = await sync(clone)
      if (received.commits + sent.commits > 0) moved = true
    }
  }
}

export async function headOf({ store }: Pick<Clone, 'store'>): Promise<string> {
  return (await store.status()).head
}

/** Stock git's view of a repository. Throws unless it is clean. */
export function checkWithGit(directory: string): void {
  git(['fsck', '--strict', '--no-dangling'], directory)
}

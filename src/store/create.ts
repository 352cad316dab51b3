// Creating a store: its first keyring, genesis, and the files of this device.

import { assert, StoreError } from '../errors.ts'
import type { Actor } from '../format/change-record.ts'
import { type DeviceCard, parseDeviceCard } from '../format/device-card.ts'
import type { Seeded } from '../format/envelope.ts'
import { formatId } from '../format/id.ts'
import { zeroHash } from '../format/record.ts'
import { checkSettings, type Settings } from '../format/settings.ts'
import { checkIsNew } from '../git/refs/repository.ts'
import type { EpochKeys } from '../keys/epoch.ts'
import { formatRecoveryKey, generateRecoveryKey, parseOperatorSecret } from '../keys/identity.ts'
import { createKeyring } from '../keys/keyring.ts'
import { operatorRecoveryKey } from '../keys/recovery.ts'
import { contentBytesDefault, devicesMax, memoriesDefault } from '../limits.ts'
import { checkActor } from './commits/author.ts'
import { buildGenesis, type BuiltCommit } from './commits/commit.ts'
import { sealSettings } from './devices/administration.ts'
import {
  authorTexts,
  checkPermanent,
  deviceNameTexts,
  guardOf,
  settingsTexts,
  withGuard,
} from './guard/guard.ts'
import { MemoryStore } from './memory-store.ts'
import { checkPlaces, checkText } from './request-check.ts'
import { createObjects } from './session/objects-of.ts'
import {
  environmentOf,
  type GuardOptions,
  localFiles,
  type StoreEnvironment,
  type StorePlaces,
} from './session/open-options.ts'
import { StoreSession } from './session/session.ts'

export interface CreateOptions extends StorePlaces, GuardOptions, StoreEnvironment {
  /** Lets a new device join with a passphrase; at least 8 characters. */
  readonly passphrase?: string
  readonly limits?: { readonly contentBytes?: number; readonly memories?: number }
  readonly name?: string
  readonly description?: string
  readonly metadata?: Settings['metadata']
  /** Whether the settings have every device refuse texts with secrets; true by default. */
  readonly refuseSecrets?: boolean
  /** Of this device: a text for people, by default empty. */
  readonly deviceName?: string
  /**
   * `GLKO1-…`, from `generateOperatorSecret`: the store's recovery key follows from it, so that one
   * secret recovers many stores. Without it the recovery key is random.
   */
  readonly operatorSecret?: string
  /**
   * The device cards of further owners, for a store that no key on paper recovers: then
   * a recovery key is made only of an operator secret. Needs `actor`.
   */
  readonly owners?: readonly string[]
  /** The actor recorded as the founder. */
  readonly actor?: Actor
}

/** All options but the place. */
type NewStore = Omit<CreateOptions, 'directory'>

/** The recovery key is returned here and nowhere else. */
export interface CreatedStore<RecoveryKey = string> {
  readonly store: MemoryStore
  readonly recoveryKey: RecoveryKey
}

/**
 * Makes a new store in an absent or empty directory and opens it. Throws `store_exists`,
 * `invalid_input` or a storage code.
 */
export function createStore(
  options: CreateOptions & { readonly owners?: undefined },
): Promise<CreatedStore>
/** As above. There is no recovery key if `owners` are given, and no operator secret. */
export function createStore(options: CreateOptions): Promise<CreatedStore<string | undefined>>
export async function createStore(
  options: CreateOptions,
): Promise<CreatedStore<string | undefined>> {
  const { directory } = checkPlaces(options)
  return createStoreAt(options, async () => directory)
}

/**
 * @internal As above, for a host that names directories after stores: `place` learns the new id,
 * `memstore_…`, before anything of the store is on disk, and gives the directory.
 */
export async function createStoreAt(
  given: NewStore,
  place: (storeId: string) => Promise<string>,
): Promise<CreatedStore<string | undefined>> {
  const owners = checkOwners(given)
  const environment = environmentOf(given)
  const { storeId, epoch, built, recoveryKey } = await found(given, owners, environment)
  const { snapshot } = built
  const id = formatId('store', storeId)
  const options = { ...given, directory: await place(id) }
  const objects = await createObjects(options, id)
  const files = await localFiles(options, storeId)
  try {
    await objects.exclusive(async () => {
      checkIsNew(objects)
      // Genesis has number 1, so the next one is asked for: 1 is never given again.
      await files.anchor.reserve(1, snapshot.head)
      const transition = { objects: built.objects, expected: undefined, next: snapshot.head.commit }
      await objects.commit([transition])
    })
    await objects.checkpoint()
  } catch (error) {
    await objects.close().catch(() => undefined)
    throw error
  }
  const { identity, guard } = options
  const epochs = new Map([[epoch.kid, epoch]])
  const counted = { commit: snapshot.head.commit, commits: 1 }
  const known = { cachedHeight: -1, counted, kept: undefined }
  const parts = { objects, storeId, identity, epochs, snapshot, guard }
  const session = new StoreSession({ ...parts, ...files, ...known, ...environment })
  const store = new MemoryStore(session)
  try {
    await addOwners(store, options)
  } catch (error) {
    await store.close().catch(() => undefined)
    throw error
  }
  return { store, recoveryKey: recoveryKey && formatRecoveryKey(storeId, recoveryKey) }
}

/** What the cards of the owners say. All is refused here that would leave a store without them. */
function checkOwners({ owners, actor, identity }: NewStore): readonly DeviceCard[] {
  if (owners === undefined) return []
  if (!Array.isArray(owners) || owners.length === 0 || actor === undefined) {
    throw new StoreError(
      'invalid_input',
      'Give the card of at least one owner, and the founder (`actor`), who adds the owners',
    )
  }
  const cards = owners.map((card) => parseDeviceCard(checkText(card, 'A device card')))
  const ids = new Set([identity.deviceId, ...cards.map(({ deviceId }) => deviceId)])
  if (ids.size <= cards.length) {
    throw new StoreError(
      'invalid_input',
      'Give the card of each owner once, and not that of this device, which is an owner anyway',
    )
  }
  if (ids.size <= devicesMax) return cards
  throw new StoreError('invalid_input', `A store has at most ${devicesMax} devices`)
}

async function addOwners(store: MemoryStore, { owners = [], actor }: NewStore): Promise<void> {
  for (const card of owners) {
    assert(actor !== undefined, 'owners are added by the founder')
    await store.as({ actor }).devices.add(card, 'owner')
  }
}

/** The first keyring, settings and commit, in RAM. */
async function found(
  options: NewStore,
  owners: readonly DeviceCard[],
  { clock, random, stretch }: Pick<Required<StoreEnvironment>, 'clock' | 'random' | 'stretch'>,
): Promise<{
  readonly storeId: string
  readonly recoveryKey: Uint8Array | undefined
  readonly epoch: EpochKeys
  readonly built: BuiltCommit
}> {
  const { identity, passphrase, actor, operatorSecret, deviceName: name = '' } = options
  const settings = checkSettings(initialSettings(options))
  const founder = actor && checkActor(actor)
  await checkPermanent(guardOf([options.guard], settings), [
    ...settingsTexts(settings),
    ...(founder === undefined ? [] : authorTexts({ actor: founder })),
    ...[name, ...owners.map((card) => card.name)].flatMap(deviceNameTexts),
  ])
  const operator = operatorSecret === undefined ? undefined : parseOperatorSecret(operatorSecret)
  const fresh = options.owners === undefined ? generateRecoveryKey(random) : undefined
  const recoveryKeyOf = (seeded: Seeded): Uint8Array | undefined => {
    return operator === undefined ? fresh : operatorRecoveryKey(seeded, operator, 0)
  }
  const how = { passphrase, recoveryKeyOf, random, stretch }
  const keyring = await createKeyring({ identity, name, ...how })
  const { epoch } = keyring
  const { deviceId, signing: pair } = identity
  const signer = { deviceId, pair, sequence: 1, previous: zeroHash }
  const context = { epoch, signer, time: clock(), random }
  const sealed = { bytes: sealSettings(context, settings), value: settings }
  const founded = await buildGenesis(context, keyring, sealed, founder)
  return { recoveryKey: recoveryKeyOf(epoch), epoch, ...founded }
}

function initialSettings(options: NewStore): Settings {
  const { contentBytes = contentBytesDefault, memories = memoriesDefault } = options.limits ?? {}
  const { name = 'agent memory', description = '', metadata = {}, refuseSecrets = true } = options
  return {
    name,
    description,
    // A copy: the caller may change the object later.
    metadata: { ...withGuard({}, refuseSecrets), ...metadata },
    archivedAt: undefined,
    limits: { contentBytes, memories },
  }
}

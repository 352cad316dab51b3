// Opens a store of a remote in RAM: with a grant, which may write, or with the whole history and a
// device's identity or a recovery key, which may only read: an identity that writes in two places
// forks its line of records.

import http from 'isomorphic-git/http/web'
import type { Progress } from '../async.ts'
import { CacheBudget } from '../cache-budget.ts'
import type { Clock } from '../clock.ts'
import type { Random } from '../crypto/random.ts'
import { MemoryDisk } from '../disk/memory-disk.ts'
import { StoreError } from '../errors.ts'
import { createMemoryObjectStore } from '../git/memory-store/memory-object-store.ts'
import type { ObjectStore } from '../git/object-store.ts'
import { generateIdentity, parseIdentity, type Identity } from '../keys/identity.ts'
import { MEBIBYTE } from '../limits.ts'
import { openHeadKeyring } from '../store/access/authority.ts'
import {
  addressOf,
  checkNamed,
  checkState,
  confirmContact,
  contactOf,
  fetchHead,
  type FirstContact,
} from '../store/clone/clone-remote.ts'
import { cloneFromStart, noteShown, parseGrantAt } from '../store/clone/start-clone.ts'
import { checkObject, checkText } from '../store/request-check.ts'
import { type OpenOptions, unlockOf } from '../store/session/open-options.ts'
import { openSession } from '../store/session/open-session.ts'
import { onSteadyHead } from '../store/session/steady-head.ts'
import { type HttpClient, wiresOver } from '../transport/client-wire.ts'
import type { CredentialSource, RemoteAccess } from '../transport/remote-access.ts'
import { parseRemoteUrl } from '../transport/remote-url.ts'
import type { SyncMode } from './pushes.ts'
import { RemoteStore } from './remote-store.ts'

/** The key that opens the store: exactly one of them. */
export type RemoteKey =
  /** `GLKG1-…`, from `grants.give`: reads and, if it was given for that, writes. */
  | { readonly grant: string; readonly identity?: undefined; readonly recoveryKey?: undefined }
  /** The text of a device's identity: reads. */
  | { readonly identity: string; readonly grant?: undefined; readonly recoveryKey?: undefined }
  /** `GLKR1-…`: reads. */
  | { readonly recoveryKey: string; readonly grant?: undefined; readonly identity?: undefined }

export type RemoteStoreOptions = RemoteKey & {
  /**
   * https://…, with `#memstore_…+…` behind it as `status` and `grant give` show it: the store and a
   * state that the remote must have. With a grant it may be without it.
   */
  readonly url: string
  /** An HTTP client of isomorphic-git's kind; by default its own one over `fetch`. */
  readonly http?: HttpClient | undefined
  /** Called when the remote requires credentials, and again when it rejects them. */
  readonly onAuth?: CredentialSource | undefined
  /** An address that requests go through, as isomorphic-git's. It sees credentials, no contents. */
  readonly corsProxy?: string | undefined
  /** Allows http:// to other machines, although anyone on the way can read and change the data. */
  readonly allowHttp?: boolean | undefined
  /** The longest time without progress before `remote_timeout`; 60 s by default. */
  readonly timeoutMs?: number | undefined
  /** Cancels the opening. */
  readonly signal?: AbortSignal | undefined
  /** When a write is answered: by default, once the remote has it. */
  readonly sync?: SyncMode | undefined
  /** Fetches the whole history with a grant too, and verifies it from genesis. */
  readonly full?: boolean | undefined
  /** With a grant: refuses a state that is older, at the opening and in each sync. */
  readonly maxAgeMs?: number | undefined
  /** Whether to trust how new the store is, if the address does not name a state of it. */
  readonly trustFirstContact?: ((found: FirstContact) => Promise<boolean>) | undefined
  /** Reports the verification of a long history. */
  readonly progress?: Progress | undefined
  readonly clock?: Clock | undefined
  readonly random?: Random | undefined
}

const DIRECTORY = '/store'
/** Decrypted texts that are kept for the next read. */
const CACHE_BYTES = 8 * MEBIBYTE
/** Objects of one fetch, inflated. */
const STORED_BYTES = 256 * MEBIBYTE

/**
 * Opens the store in RAM. Throws `invalid_identity` or `invalid_input` for malformed options,
 * `grant_expired`, `wrong_key`, `store_id_mismatch`, `not_found` if the remote is empty or has
 * nothing for the grant, `rolled_back`, `baseline_old`, `history_needed`, a remote
 * code, or what verification refuses.
 */
export async function openRemote(options: RemoteStoreOptions): Promise<RemoteStore> {
  const { grant, identity, recoveryKey, ...given } = checkObject(options, 'The options')
  const keys = [grant, identity, recoveryKey].filter((key) => key !== undefined)
  if (keys.length !== 1) {
    throw invalid('Give a `grant`, an `identity` or a `recoveryKey`: exactly one of them')
  }
  checkText(given.url, '`url`')
  if (given.maxAgeMs !== undefined && grant === undefined) {
    throw invalid('`maxAgeMs` needs a `grant`: only its baselines tell how old a state is')
  }
  const disk = new MemoryDisk(given.clock)
  const onErased = (): void => disk.removeTree(`${DIRECTORY}/gitlocket/cache`)
  const access = accessOf(given)
  const objects = createMemoryObjectStore({ onErased, bytesMax: STORED_BYTES })
  const place = { objects, disk, options: given, access }
  try {
    return grant === undefined
      ? await openToRead(place, { identity, recoveryKey })
      : await openGrantedIn(place, checkText(grant, '`grant`'))
  } catch (error) {
    await objects.close()
    throw error
  }
}

interface Opening {
  readonly objects: ObjectStore
  readonly disk: MemoryDisk
  readonly options: Omit<RemoteStoreOptions, 'grant' | 'identity' | 'recoveryKey'>
  readonly access: Omit<RemoteAccess, 'url'>
}

function accessOf(options: Opening['options']): Opening['access'] {
  const { http: client = http, corsProxy, onAuth, allowHttp, timeoutMs, sync } = options
  if (typeof checkObject(client, '`http`').request !== 'function') {
    throw invalid('`http` must have a `request`')
  }
  if (corsProxy !== undefined) checkText(corsProxy, '`corsProxy`')
  if (onAuth !== undefined && typeof onAuth !== 'function') {
    throw invalid('`onAuth` must be a function')
  }
  if (timeoutMs !== undefined && !(timeoutMs > 0)) throw invalid('`timeoutMs` must be above 0')
  if (sync !== undefined && sync !== 'before-answer' && sync !== 'background') {
    throw invalid('`sync` must be before-answer or background')
  }
  const wire = wiresOver({ client, corsProxy })
  return { wire, credentials: onAuth, allowHttp, timeoutMs }
}

async function openGrantedIn(place: Opening, grant: string): Promise<RemoteStore> {
  const { objects, access, options } = place
  const at = await parseGrantAt(grant, options.url, access, options.maxAgeMs)
  const opening = openingOf(place, at.held.identity)
  const { signal, progress, full } = options
  const how = { ...opening, progress, full, access: { signal, ...access } }
  const verified = await cloneFromStart(objects, at, how)
  await noteShown(opening, at, verified.head)
  return openOver(place, { ...opening, verified }, options.sync ?? 'before-answer')
}

async function openToRead(
  place: Opening,
  { identity: text, recoveryKey }: Pick<RemoteKey, 'identity' | 'recoveryKey'>,
): Promise<RemoteStore> {
  const { objects, access, options } = place
  const identity =
    text === undefined
      ? await generateIdentity()
      : await parseIdentity(checkText(text, '`identity`'))
  const { url, trustFirstContact, signal } = options
  checkNamed({ url })
  parseRemoteUrl(addressOf({ url }).url, access)
  const opening: OpenOptions = {
    ...openingOf(place, identity),
    ...(recoveryKey !== undefined && { recoveryKey, isGuest: true }),
  }
  let contact: FirstContact | undefined
  const hashed = await fetchHead(objects, { url, access, signal }, async (_, head, storeId) => {
    const opened = await openHeadKeyring(objects, storeId, unlockOf(opening), head, signal)
    const source = { objects, storeId, epochs: opened.epochs }
    await checkState(source, head, { ...opening, url })
    contact = await contactOf(source, head, opened.directory)
  })
  const store = await openOver(place, { ...opening, hashed }, undefined)
  try {
    // Files in RAM remember no earlier contact.
    const first = { ...opening, stateDirectory: '/unknown' }
    await confirmContact({ ...first, url, trustFirstContact }, contact)
    await objects.exchange.addRemote({ name: 'origin', url: addressOf({ url }).url })
    return store
  } catch (error) {
    await store.close()
    throw error
  }
}

/** Undefined as the mode for a store that is only read. */
async function openOver(
  { objects, access }: Opening,
  opening: OpenOptions,
  sync: SyncMode | undefined,
): Promise<RemoteStore> {
  const { session } = await onSteadyHead(objects, () => openSession(objects, opening))
  return new RemoteStore(session, { access, sync })
}

function openingOf({ disk, options }: Opening, identity: Identity): OpenOptions {
  const { signal, progress, clock, random } = options
  return {
    directory: DIRECTORY,
    stateDirectory: '/state',
    disk,
    identity,
    cacheBudget: new CacheBudget(CACHE_BYTES),
    ...(signal && { signal }),
    ...(progress && { progress }),
    ...(clock && { clock }),
    ...(random && { random }),
  }
}

function invalid(message: string): StoreError {
  return new StoreError('invalid_input', message)
}

// The holder of a grant (FORMAT §12): an identity that signs as the grant, seals local files by the
// grant's secret, and opens the store with the keys that the granter's wraps bring.

import { kemKeyPair } from '../crypto/recipient.ts'
import { loadSodium } from '../crypto/sodium.ts'
import { StoreError } from '../errors.ts'
import type { EpochKeys } from './epoch.ts'
import type { HeldAccess, Identity } from './identity.ts'
import { decodeWraps, grantKeysOf, type GrantKeys, openWraps, parseGrant } from './wraps.ts'

/** Nothing is concluded from it: only a verified history tells that a grant has ended. */
export function keysMissingError(cause?: unknown): StoreError {
  return new StoreError(
    'grant_keys_missing',
    'The remote shows no keys for this grant: the device that gave it has not synced since the ' +
      'keys of the store changed, the grant has ended, or the remote shows an older state. ' +
      'Changes that were not sent are kept: sync again later, or ask for another grant',
    { cause },
  )
}

export class HeldGrant implements HeldAccess {
  /** 32 hex digits. */
  readonly storeId: string
  readonly granterKey: Uint8Array
  /** 32 hex digits: the name of the granter's wraps and start at the remote. */
  readonly name: string
  readonly identity: Identity
  isOver = false
  maxAgeMs: number | undefined = undefined
  signedAt = 0
  /** Reads the wraps of the clone: another process may have kept newer ones. */
  findKept: () => readonly Uint8Array[] = () => []
  readonly #keys: GrantKeys
  readonly #epochs: Map<string, EpochKeys> = new Map()

  /** Throws `invalid_identity`, without quoting the text. */
  static async parse(text: string): Promise<HeldGrant> {
    await loadSodium()
    return HeldGrant.of(text)
  }

  /** As `parse`, once libsodium is loaded. */
  static of(text: string): HeldGrant {
    return new HeldGrant(text)
  }

  private constructor(text: string) {
    const grant = parseGrant(text)
    this.storeId = grant.storeId
    this.granterKey = grant.granterKey
    this.name = grant.name
    this.#keys = grantKeysOf(grant)
    const { grantId: deviceId, signing, localSecret } = this.#keys
    // No keyring has a slot for these keys, and nothing signs them.
    const kem = kemKeyPair(localSecret)
    const [keySignature, secret] = [new Uint8Array(64), new Uint8Array(96)]
    this.identity = { deviceId, signing, kem, keySignature, localSecret, secret, grant: this }
  }

  epochOf(kid: string): EpochKeys | undefined {
    const known = this.#epochs.get(kid)
    if (known !== undefined) return known
    const kept = this.findKept().find((wraps) => decodeWraps(wraps).kid === kid)
    return kept && this.learn(kept)
  }

  blobsAmong(named: ReadonlyMap<string, string>): ReturnType<HeldAccess['blobsAmong']> {
    // As tags at hosts that allow branches and tags alone.
    const at = (kind: string): string | undefined =>
      named.get(`refs/gitlocket/${kind}/${this.name}`) ??
      named.get(`refs/tags/gitlocket-${kind}-${this.name}`)
    return { wraps: at('wraps'), start: at('baseline') }
  }

  learn(bytes: Uint8Array): EpochKeys {
    const epoch = openWraps(decodeWraps(bytes), this.granterKey, this.#keys)
    // Not known to have ended: the remote may show wraps from before the grant was given.
    if (epoch === undefined) throw keysMissingError()
    this.#epochs.set(epoch.kid, epoch)
    return epoch
  }
}

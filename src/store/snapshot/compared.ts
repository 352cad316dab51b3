// What people compare of a store between machines, and join it with (FORMAT §1.8, §9.2).

import { formatStateOf } from '../../format/address.ts'
import type { Snapshot } from './snapshot.ts'

export interface ComparedState {
  /** Twelve words for the newest commit. */
  readonly headFingerprint: readonly string[]
  /**
   * What makes the address of a remote one that `join` trusts, after a `#`: the store, and the
   * newest state of who may open it.
   */
  readonly address: string
  /** Ten words for that state: they change only with who may open the store. */
  readonly keyringFingerprint: readonly string[]
}

export async function comparedOf(
  storeId: string,
  { head, keyring }: Pick<Snapshot, 'head' | 'keyring'>,
): Promise<ComparedState> {
  // A list of words, which little else needs.
  const words = await import('../../format/fingerprint.ts')
  return {
    headFingerprint: words.headFingerprint(storeId, head.record),
    address: formatStateOf(storeId, keyring.record),
    keyringFingerprint: words.keyringFingerprint(storeId, keyring.record),
  }
}

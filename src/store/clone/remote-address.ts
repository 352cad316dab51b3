// The one place that turns an address (FORMAT §1.8) into a remote. All fetches from an address
// that a user gives judge by it what the remote shows. Contacts no one.

import { StoreError } from '../../errors.ts'
import { isState, parseAddress } from '../../format/address.ts'
import { formatId, parseId } from '../../format/id.ts'
import { TimeSlice } from '../../time-slice.ts'

export class RemoteAddress {
  /** As git takes it. */
  readonly url: string
  /** 32 hex digits; undefined if any store will do. */
  readonly storeId: string | undefined
  /** As in `StoreAddress` of the format; undefined if the store may be of any age. */
  readonly state: string | undefined

  /** `storeId` names the store, `memstore_…`, if the address does not. Throws `invalid_input`. */
  static parse(text: string, storeId?: string): RemoteAddress {
    const { url, storeId: named, state } = parseAddress(text)
    const id = named ?? (storeId === undefined ? undefined : parseId('store', storeId))
    return new RemoteAddress(url, id, state)
  }

  constructor(url: string, storeId: string | undefined, state: string | undefined) {
    this.url = url
    this.storeId = storeId
    this.state = state
  }

  /** The same remote in the form of its url that this store keeps. */
  withUrl(url: string): RemoteAddress {
    return new RemoteAddress(url, this.storeId, this.state)
  }

  /** Throws `store_id_mismatch`, perhaps with this message, for the address of another store. */
  checkStore(storeId: string, message?: string): void {
    if (this.storeId === undefined || this.storeId === storeId) return
    const [theirs, ours] = [this.storeId, storeId].map((id) => formatId('store', id))
    const text = message ?? `The address is of ${theirs}, not of ${ours}`
    throw new StoreError('store_id_mismatch', text)
  }

  /** Throws `rolled_back` unless `isMetBy`. */
  async check(keyrings: Iterable<Uint8Array>, signal?: AbortSignal): Promise<void> {
    if (!(await this.isMetBy(keyrings, signal))) throw lacksStateError()
  }

  /**
   * Whether the state is among the hashes of keyring records: those of a verified history, or the
   * line that a baseline names and those of the verified records after it.
   */
  async isMetBy(keyrings: Iterable<Uint8Array>, signal?: AbortSignal): Promise<boolean> {
    const { state } = this
    if (state === undefined) return true
    const slice = new TimeSlice(signal)
    for (const keyring of keyrings) {
      if (isState(state, keyring)) return true
      if (slice.isOver()) await slice.next()
    }
    return false
  }
}

/** For a head, or a clone, that lacks the state of an address. */
export function lacksStateError(): StoreError {
  return new StoreError(
    'rolled_back',
    'The remote does not have the state of the store that the address names: it shows an older ' +
      'one, or one that someone continued from without the others',
  )
}

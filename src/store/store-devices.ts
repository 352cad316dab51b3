// `store.devices`: who may read and write.

import type { WorkOptions } from '../async.ts'
import { parseOperatorSecret } from '../keys/identity.ts'
import { type Device, listDevices, namesEver, namesIn, isRecoveredBy } from './devices/devices.ts'
import type { History } from './history/history.ts'
import { readConsistently } from './history/read-consistently.ts'
import { checkOptions, checkText } from './request-check.ts'
import type { StoreSession } from './session/session.ts'

export class StoreDevices {
  readonly #session: StoreSession

  /** @internal */
  constructor(session: StoreSession) {
    this.#session = session
  }

  /** Every device that the store has or had, in the order in which they came. */
  async list(options: WorkOptions = {}): Promise<readonly Device[]> {
    const list = (history: History): Promise<readonly Device[]> =>
      this.#session.reading((snapshot) => listDevices(this.#session, snapshot, history))
    return readConsistently(this.#session, list, checkOptions(options))
  }

  /** Whether the store has recovery keys, and all of them follow from this operator secret. */
  isRecoveredBy(operatorSecret: string): Promise<boolean> {
    return this.#session.reading((snapshot) => {
      const secret = parseOperatorSecret(checkText(operatorSecret, 'The operator secret'))
      return isRecoveredBy(this.#session.currentEpoch(), snapshot, secret)
    })
  }

  /** The name of every device, `dev_…`, that the store has or had. A name may be empty. */
  async names(options: WorkOptions = {}): Promise<ReadonlyMap<string, string>> {
    const { devices, removed } = await this.#session.reading(({ keyring }) => keyring.directory)
    // Only the history has the names of removed ones.
    if (removed.length === 0) return namesIn(devices)
    const list = async (history: History): Promise<ReadonlyMap<string, string>> =>
      namesEver(this.#session.contents, history)
    return readConsistently(this.#session, list, checkOptions(options))
  }
}

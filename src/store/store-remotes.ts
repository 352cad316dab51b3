// `store.remotes`: the remotes of `sync`. Nothing here contacts a remote.

import { StoreError } from '../errors.ts'
import type { Remote } from '../git/exchange.ts'
import { unknownRemoteError } from '../git/refs/remotes.ts'
import { RemoteAddress } from './clone/remote-address.ts'
import { checkText } from './request-check.ts'
import type { StoreSession } from './session/session.ts'

export class StoreRemotes {
  readonly #session: StoreSession

  /** @internal */
  constructor(session: StoreSession) {
    this.#session = session
  }

  /** As `git remote` shows them too. */
  async list(): Promise<readonly Remote[]> {
    return this.#session.reading(() => this.#session.objects.exchange.remotes())
  }

  /**
   * Names a remote: https, ssh or a path, with or without `#memstore_…+…` behind it. Syncs with it
   * are then refused as `rolled_back` until it or this clone has that state. Rejects with
   * `invalid_input`, and `store_id_mismatch` for the address of another store.
   */
  async add(name: string, address: string): Promise<void> {
    checkText(name, 'The name of a remote')
    checkText(address, 'The address of a remote')
    const named = RemoteAddress.parse(address)
    named.checkStore(this.#session.storeId)
    const { parseRemoteUrl } = await import('../transport/remote-url.ts')
    const found = named.withUrl(parseRemoteUrl(named.url).text)
    await this.#session.objects.exchange.addRemote({ name, url: found.url })
    await this.#bind(name, found)
  }

  /** @internal The remote of this name is at this address from now on. */
  async put(name: string, address: RemoteAddress): Promise<void> {
    checkText(name, 'The name of a remote')
    if (!(address instanceof RemoteAddress)) {
      throw new StoreError('invalid_input', 'The address of a remote must be a RemoteAddress')
    }
    const { exchange } = this.#session.objects
    const known = (await this.list()).find((remote) => remote.name === name)
    if (known?.url !== address.url) {
      if (known !== undefined) await exchange.removeRemote(name)
      await exchange.addRemote({ name, url: address.url })
    }
    // An address without a state releases no clone.
    if (address.state !== undefined) await this.#bind(name, address)
  }

  async #bind(name: string, { url, state }: RemoteAddress): Promise<void> {
    const { objects, seenRemotes } = this.#session
    const known = await seenRemotes.findBound(name, url)
    if (known?.state === state) return
    const bound = state === undefined ? undefined : { url, state, isMet: false }
    await objects.exclusive(() => seenRemotes.bind(name, bound))
  }

  /**
   * Chooses the remote that changes of the members are pushed to, for this machine; by default it
   * is `origin`, or the only one. Rejects with `not_found`.
   */
  async setMembership(name: string): Promise<void> {
    const { objects, seenRemotes } = this.#session
    checkText(name, 'The name of a remote')
    await this.#session.planning(() =>
      objects.exclusive(async () => {
        const remotes = objects.exchange.remotes()
        if (!remotes.some((remote) => remote.name === name)) throw unknownRemoteError(name)
        await seenRemotes.chooseMembership(name)
      }),
    )
  }

  /** Forgets a remote. Rejects with `not_found`. */
  async remove(name: string): Promise<void> {
    return this.#session.objects.exchange.removeRemote(checkText(name, 'The name of a remote'))
  }
}

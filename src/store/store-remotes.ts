// `store.remotes`: the remotes of `sync`. Nothing here contacts a remote.

import type { Remote } from '../git/exchange.ts'
import { unknownRemoteError } from '../git/refs/remotes.ts'
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

  /** Names a remote: https, ssh or a path. Rejects with `invalid_input`. */
  async add(name: string, url: string): Promise<void> {
    checkText(name, 'The name of a remote')
    checkText(url, 'The address of a remote')
    const { parseRemoteUrl } = await import('../transport/remote-url.ts')
    return this.#session.objects.exchange.addRemote({ name, url: parseRemoteUrl(url).text })
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

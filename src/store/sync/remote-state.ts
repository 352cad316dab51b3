// What this store knows of one of its remotes: the newest head that it has shown, and which commits
// of ours it certainly has. Asks nobody.

import type { WorkOptions } from '../../async.ts'
import { hasCode } from '../../errors.ts'
import type { Remote } from '../../git/exchange.ts'
import type { Oid } from '../../git/objects/object.ts'
import { refusedName } from '../../git/refs/ref-list.ts'
import { inSlices } from '../../time-slice.ts'
import { containsRecord } from '../commits/ancestors.ts'
import type { SeenHead } from '../local/remote-state-file.ts'
import { onOneState } from '../session/one-state.ts'
import type { StoreSession } from '../session/session.ts'
import { findRecord } from './remote-head.ts'

export class RemoteState {
  readonly #session: StoreSession
  readonly #remote: Remote
  #mark: number | undefined

  constructor(session: StoreSession, remote: Remote) {
    this.#session = session
    this.#remote = remote
  }

  /** What is noted from now on was found out after this. */
  begin(): void {
    this.#mark = this.#session.seenRemotes.mark()
  }

  seen(): SeenHead | undefined {
    return this.#session.seenRemotes.find(this.#remote.name, this.#remote.url)
  }

  /**
   * What it has shown, if all of that is here: a store that was put back may have less.
   */
  async seenHere(): Promise<SeenHead | undefined> {
    const seen = this.seen()
    if (seen === undefined) return undefined
    const look = async (): Promise<boolean> => {
      const { commit } = await this.#session.reading(({ head }) => head)
      return this.#leadsTo(commit, seen)
    }
    const leads = await onOneState(this.#session, look).catch((error: unknown) => {
      if (!hasCode(error, 'ref_conflict')) throw error
      // Where others redact all the time, in a turn of its own.
      return this.#session.planning(() => this.#leadsTo(this.#session.snapshot.head.commit, seen))
    })
    return leads ? seen : undefined
  }

  /** Reads back over all that was never sent, which may be much. */
  #leadsTo(head: Oid, wanted: SeenHead): Promise<boolean> {
    return inSlices(containsRecord(this.#session, head, wanted))
  }

  /** Durably, and as the ref that git's tools look at. */
  async note(head: SeenHead): Promise<void> {
    const { name, url } = this.#remote
    const { objects, seenRemotes } = this.#session
    const { exchange } = objects
    await objects.exclusive(() => seenRemotes.note(name, url, head, this.#mark))
    await exchange.track(name, head.oid)
  }

  /** After a sync: what was refused before has been overcome. */
  async forgetRefused(): Promise<void> {
    await this.#session.objects.exchange.track(refusedName(this.#remote.name), undefined)
  }

  /** What a remote with this head has of what is here. A redaction may have renamed the rest. */
  async commitsBehind(head: Oid, options: WorkOptions): Promise<readonly Oid[]> {
    if (this.#session.objects.read(head) !== undefined) return [head]
    const seen = this.seen()
    if (seen?.oid !== head || seen.intactBelow === undefined) return []
    const { intactBelow } = seen
    const history = await this.#session.loadHistory(options)
    const entry = findRecord(this.#session, history, seen)
    if (entry === undefined) return []
    const isThere = history.pastOf(entry)
    const tips = history.newest(({ height, position }) => height < intactBelow && isThere(position))
    return tips.map(({ oid }) => oid)
  }
}

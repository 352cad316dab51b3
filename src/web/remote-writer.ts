// `store.as(author)` of a store in RAM: changes of memories, each of which is at the remote before
// it is answered, or soon after.

import { ChangeWriter } from '../store/change-writer.ts'
import type { AppliedChanges } from '../store/changes/apply.ts'
import type { Change } from '../store/changes/changes.ts'
import type { Author } from '../store/commits/commit-context.ts'
import type { StoreSession } from '../store/session/session.ts'
import type { Pushes } from './pushes.ts'

export class RemoteWriter extends ChangeWriter {
  readonly #pushes: Pushes
  readonly #author: Author

  /** @internal Use `store.as`. */
  constructor(session: StoreSession, pushes: Pushes, author: Author) {
    super(session, author)
    this.#pushes = pushes
    this.#author = author
  }

  /**
   * Does all of `changes` in one commit, or none of them. Rejects with the codes of a write, and
   * with a remote code if the remote could not be told: the changes are taken back then, unless
   * the message tells that they are kept.
   */
  override apply(changes: readonly Change[]): Promise<AppliedChanges> {
    return this.#pushes.write(this.#author, () => super.apply(changes))
  }
}

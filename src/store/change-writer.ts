// Changes of memories in the name of one author, for every open store. A call that resolves is
// durable. Must decide nothing that a room of this folder decides.

import { type AppliedChanges, applyChanges } from './changes/apply.ts'
import type { Change } from './changes/changes.ts'
import type { Author } from './commits/commit-context.ts'
import type { StoreSession } from './session/session.ts'

// Commands run in the order of their calls: code that joins the queue of writers is imported here,
// and only plans when they run.

export class ChangeWriter {
  readonly #session: StoreSession
  readonly #author: Author

  /** @internal */
  constructor(session: StoreSession, author: Author) {
    this.#session = session
    this.#author = author
  }

  /** Makes the memory at `path` hold `content`, whether there is one yet or not. As `apply`. */
  write(path: string, content: string): Promise<AppliedChanges> {
    return this.apply([{ type: 'write', path, content }])
  }

  /**
   * Changes the content of the memory at `path`. `edit` gets the newest one, and must be pure: it
   * may run more than once. As `apply`.
   */
  edit(path: string, edit: (content: string) => string): Promise<AppliedChanges> {
    return this.apply([{ type: 'edit', path, edit }])
  }

  /** Adds lines at the end of the memory at `path`, or creates it with them. As `apply`. */
  append(path: string, content: string): Promise<AppliedChanges> {
    return this.apply([{ type: 'append', path, content }])
  }

  /** Moves a memory, or a directory with all below it, to a free path. As `apply`. */
  move(path: string, to: string): Promise<AppliedChanges> {
    return this.apply([{ type: 'rename', path, to }])
  }

  /** Deletes a memory, or a directory with all below it. As `apply`. */
  delete(path: string): Promise<AppliedChanges> {
    return this.apply([{ type: 'delete', path }])
  }

  /**
   * Does all of `changes` in one commit, or none of them. Rejects with `not_found`,
   * `path_conflict`, `precondition_failed`, `invalid_path`, `invalid_input`, `content_too_large`,
   * `store_full`, `change_too_large`, `permission_denied`, `store_archived` or a storage code.
   */
  async apply(changes: readonly Change[]): Promise<AppliedChanges> {
    return applyChanges(this.#session, changes, this.#author)
  }
}

// What is said of a change of the devices: whether it is at the remote is not always known.

import type { MembersChanged } from '../../../../api/console/contract.ts'
import { notice } from '../../core/state.ts'

/** `done` says what was done, with a capital and without a full stop. */
export function noteReached(done: string, { pending }: MembersChanged): void {
  notice.value =
    pending === undefined
      ? done
      : `${done} here; whether the remote has it is not known, and the next sync settles that: ` +
        pending
}

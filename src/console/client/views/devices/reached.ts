// The message after a change of devices: it is not always known whether it is at the remote.

import type { MembersChanged } from '../../../../api/console/contract.ts'
import { notice } from '../../core/state.ts'

/** `done` describes the change, with a capital and without a full stop. */
export function noteReached(done: string, { pending }: MembersChanged): void {
  notice.value =
    pending === undefined
      ? done
      : `${done} here; whether the remote has it is not known, and the next sync settles that: ` +
        pending
}

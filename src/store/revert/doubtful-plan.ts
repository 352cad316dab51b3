// Adds the doubtful times to the plan of a revert by time, and refuses a plan that would change
// nothing because of them: its user must not believe that something was taken back.

import { StoreError } from '../../errors.ts'
import { inSlices } from '../../time-slice.ts'
import { type DoubtScope, doubtSentence, type FoundDoubt } from '../history/doubtful-times.ts'
import type { RevertPlan, RevertSource } from './revert-plan.ts'

type FindDoubt = (scope: DoubtScope) => Generator<undefined, FoundDoubt | undefined>

/**
 * Throws `time_doubtful` if the plan has no step, and a memory shows a change that the plan keeps
 * or leaves out for a doubtful time.
 */
export async function withDoubt(
  source: RevertSource,
  plan: RevertPlan,
  find: FindDoubt,
  { concerns }: Pick<DoubtScope, 'concerns'> = {},
): Promise<RevertPlan> {
  const isGrant = (deviceId: string): boolean => source.snapshot.grants.has(deviceId)
  const found = await inSlices(find({ isGrant, now: source.now, concerns }))
  if (found === undefined) return plan
  const { times } = found
  if (plan.steps.length === 0 && (await inSlices(isCurrent(source, found, concerns)))) {
    const sentence = doubtSentence(times)
    throw new StoreError('time_doubtful', `${sentence}: nothing would change`, {
      details: { doubtful: times },
    })
  }
  return { ...plan, doubtful: times }
}

/** Whether one of the changes wrote the newest version of a memory. */
function* isCurrent(
  { history }: RevertSource,
  { positions }: FoundDoubt,
  concerns: DoubtScope['concerns'] = () => true,
): Generator<undefined, boolean> {
  for (const position of positions) {
    yield
    for (const entry of history.rowsAt(position)) {
      if (!concerns(entry)) continue
      if (history.newestOf(entry.memoryId)?.versionId === entry.versionId) return true
    }
  }
  return false
}

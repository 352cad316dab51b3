// `--at`: reads the store as it was at a point. Verbs that only read go through here, and work the
// same on the current state and on a past one.

import type { MemoryReader } from '../../operations/operation.ts'
import { timestamp } from '../../operations/wire.ts'
import type { PastView } from '../../store/history/past.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import type { Answer, Context, Input } from '../call/command.ts'
import { doubtFacts } from '../terminal/doubt.ts'
import { withProgress } from '../terminal/progress.ts'
import { countText } from '../text/words.ts'
import { noteDoubt } from './doubt.ts'
import { withStore } from './open-store.ts'
import { pointOf } from './points.ts'

/** Runs `work` on the current state of the store, or on that of the point that --at names. */
export function withReader(
  context: Context,
  input: Input,
  work: (reader: MemoryReader) => Promise<Answer>,
): Promise<Answer> {
  return withStore(context, async (store) => {
    const past = await findPast(context, input, store)
    if (past === undefined) return work(store)
    const answer = await work(past)
    const notes = [answer.note, noteOf(past)].filter((note) => note !== undefined)
    await noteDoubt(context, store, past.doubtful)
    return {
      ...answer,
      json: withFacts(answer.json, past),
      note: notes.join('\n'),
    }
  })
}

async function findPast(
  context: Context,
  input: Input,
  store: MemoryStore,
): Promise<PastView | undefined> {
  const point = await pointOf(context, input, 'at', store)
  if (point === undefined) return undefined
  return withProgress(context, 'Reading the history', (options) => store.at(point, options))
}

function noteOf({ redacted, displaced }: PastView): string | undefined {
  const notes: string[] = []
  if (redacted > 0) {
    const count = countText(redacted, 'memory of that time is', 'memories of that time are')
    notes.push(`${count} redacted and left out`)
  }
  if (displaced > 0) {
    const count = countText(displaced, 'memory is', 'memories are')
    notes.push(`${count} left out: clones had diverged then, and an older memory had the path`)
  }
  return notes.length === 0 ? undefined : notes.join('\n')
}

function withFacts(json: unknown, past: PastView): unknown {
  const { commit, time, redacted, displaced, doubtful } = past
  const facts = { commit, time: timestamp(time), redacted, displaced }
  const at = { ...facts, ...doubtFacts(doubtful) }
  return typeof json === 'object' && json !== null ? { ...json, at } : json
}

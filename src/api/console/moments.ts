// Moments of the history: how many there are and when, one of them, and what differs between two.

import { z } from 'zod'
import type { TextState } from '../../store/history/history-diff.ts'
import { commit, pointOf, short, time } from './fields.ts'
import { consoleOperation } from './operation.ts'

const STRETCHES_MAX = 1000

export const momentsOperations = {
  'moment.density': consoleOperation({
    name: 'the line of commits',
    effect: 'read',
    input: z.strictObject({ stretches: z.int().min(1).max(STRETCHES_MAX) }),
    run: async ({ store }, { stretches: most }) => {
      const stretches = await store.history.stretches(most)
      const last = stretches.at(-1)
      return { commits: last === undefined ? 0 : last.first + last.commits - 1, stretches }
    },
  }),

  'moment.find': consoleOperation({
    name: 'the search for a moment',
    effect: 'read',
    input: z.union([
      z.strictObject({ position: z.int() }),
      z.strictObject({ time }),
      z.strictObject({ versionId: short }),
      z.strictObject({ commit }),
    ]),
    run: ({ store }, input) => store.history.place(input),
  }),

  'moment.compare': consoleOperation({
    name: 'the comparison of moments',
    effect: 'read',
    input: z.strictObject({ from: commit, to: commit.optional() }),
    run: async ({ store, work }, { from, to }) => {
      const { changes, redacted } = await store.history.diff({ commit: from }, pointOf(to), work)
      const described = changes.map(({ memoryId, before, after }) => {
        return describeChange(memoryId, before, after)
      })
      return { changes: described, redacted }
    },
  }),
}

function describeChange(
  memoryId: string,
  before: TextState | undefined,
  after: TextState | undefined,
) {
  const textDiffers = before?.content !== after?.content
  return { memoryId, before: before?.path, after: after?.path, textDiffers }
}

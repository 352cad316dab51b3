// What takes changes back: first what would be done, then that and nothing else.

import { z } from 'zod'
import { StoreError } from '../../errors.ts'
import type { Point } from '../../store/history/points.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import type { Revert } from '../../store/revert/restore.ts'
import type { RevertOptions } from '../../store/revert/revert.ts'
import type { UndoRequest } from '../../store/revert/undo.ts'
import type { StoreWriter } from '../../store/store-writer.ts'
import type {
  Confirmed,
  HistoryApi,
  RestoreInput,
  RevertPlan,
  RollbackInput,
  UndoInput,
} from './contract-history.ts'
import { commit, hash, reasonField, short, time } from './fields.ts'
import type { ConsoleContext, ConsoleOperation, OperationsOf } from './operation.ts'

type Carry<Input> = (
  me: StoreWriter,
  input: Input,
  options: RevertOptions,
  store: MemoryStore,
) => Promise<Revert>

const undo: Carry<UndoInput> = async (me, input, options, store) =>
  me.undo(await undoRequest(store, input), options)

const restore: Carry<RestoreInput> = (me, input, options) =>
  me.restore({ memory: input.memoryId, to: pointIn(input) }, options)

const rollback: Carry<RollbackInput> = (me, { commit: to, path }, options) =>
  me.rollback({ to: { commit: to }, path }, options)

const undoFields = {
  versionId: short,
  by: z.enum(['session', 'actor']),
  since: time.optional(),
  until: time.optional(),
}
const restoreFields = {
  memoryId: short,
  versionId: short.optional(),
  commit: commit.optional(),
}
const rollbackFields = { commit, path: short.optional() }
const confirmedFields = { plan: hash, ...reasonField }

const undoPlan: ConsoleOperation<'undo.plan'> = {
  name: 'the plan of an undo',
  effect: 'read',
  input: z.strictObject(undoFields),
  run: (context, input) => planned(context, undo, input),
}

const undoRun: ConsoleOperation<'undo.run'> = {
  name: 'an undo',
  effect: 'write',
  input: z.strictObject({ ...undoFields, ...confirmedFields }),
  run: (context, input) => carriedOut(context, undo, input),
}

const restorePlan: ConsoleOperation<'restore.plan'> = {
  name: 'the plan of a restore',
  effect: 'read',
  input: z.strictObject(restoreFields),
  run: (context, input) => planned(context, restore, input),
}

const restoreRun: ConsoleOperation<'restore.run'> = {
  name: 'a restore',
  effect: 'write',
  input: z.strictObject({ ...restoreFields, ...confirmedFields }),
  run: (context, input) => carriedOut(context, restore, input),
}

const rollbackPlan: ConsoleOperation<'rollback.plan'> = {
  name: 'the plan of a rollback',
  effect: 'read',
  input: z.strictObject(rollbackFields),
  run: (context, input) => planned(context, rollback, input),
}

const rollbackRun: ConsoleOperation<'rollback.run'> = {
  name: 'a rollback',
  effect: 'write',
  input: z.strictObject({ ...rollbackFields, ...confirmedFields }),
  run: (context, input) => carriedOut(context, rollback, input),
}

export const revertsOperations: OperationsOf<
  Pick<
    HistoryApi,
    'undo.plan' | 'undo.run' | 'restore.plan' | 'restore.run' | 'rollback.plan' | 'rollback.run'
  >
> = {
  'undo.plan': undoPlan,
  'undo.run': undoRun,
  'restore.plan': restorePlan,
  'restore.run': restoreRun,
  'rollback.plan': rollbackPlan,
  'rollback.run': rollbackRun,
}

async function planned<Input>(
  { store, writer, work }: ConsoleContext,
  carry: Carry<Input>,
  input: Input,
): Promise<RevertPlan> {
  const done = await carry(writer(), input, { ...work, dryRun: true }, store)
  return planOf(done, done.plan ?? '')
}

async function carriedOut<Input>(
  { store, writer, work }: ConsoleContext,
  carry: Carry<Input>,
  input: Confirmed<Input>,
): Promise<RevertPlan> {
  const { plan, reason } = input
  return planOf(await carry(writer(reason), input, { ...work, confirmed: plan }, store), plan)
}

function planOf({ commit: done, steps, left }: Revert, plan: string): RevertPlan {
  return { commit: done, steps, left, plan }
}

/** Whose version it is, which must say so. */
async function undoRequest(
  store: MemoryStore,
  { versionId, by, since, until }: UndoInput,
): Promise<UndoRequest> {
  const { session, createdBy } = await store.history.version(versionId)
  const who = by === 'session' ? { session } : { actorId: createdBy?.id }
  if ((who.session ?? who.actorId) !== undefined) return { ...who, since, until }
  throw new StoreError('not_found', `The version names no ${by}`)
}

function pointIn({ versionId, commit: of }: Omit<RestoreInput, 'memoryId'>): Point | undefined {
  if (versionId !== undefined) return { versionId }
  return of === undefined ? undefined : { commit: of }
}

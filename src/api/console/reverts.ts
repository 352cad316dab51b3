// What takes changes back: first what would be done, then that and nothing else.

import { z } from 'zod'
import { StoreError } from '../../errors.ts'
import type { Point } from '../../store/history/points.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import type { Revert } from '../../store/revert/restore.ts'
import type { RevertOptions } from '../../store/revert/revert.ts'
import type { UndoRequest } from '../../store/revert/undo.ts'
import type { StoreWriter } from '../../store/store-writer.ts'
import type { FieldsOf } from '../schemas.ts'
import { commit, hash, reasonField, short, time } from './fields.ts'
import { type ConsoleContext, consoleOperation } from './operation.ts'

/** Undoes what the session or the actor of this version wrote. */
const undoInput = z.strictObject({
  versionId: short,
  by: z.enum(['session', 'actor']),
  since: time.optional(),
  until: time.optional(),
})
const restoreInput = z.strictObject({
  memoryId: short,
  versionId: short.optional(),
  commit: commit.optional(),
})
const rollbackInput = z.strictObject({ commit, path: short.optional() })
/** A run names the plan that the user saw. */
const confirmedFields = { plan: hash, ...reasonField }

type UndoInput = z.infer<typeof undoInput>
type RestoreInput = z.infer<typeof restoreInput>
type RollbackInput = z.infer<typeof rollbackInput>
type Confirmation = FieldsOf<typeof confirmedFields>

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

export const revertsOperations = {
  'undo.plan': consoleOperation({
    name: 'the plan of an undo',
    effect: 'read',
    input: undoInput,
    run: (context, input) => planned(context, undo, input),
  }),

  'undo.run': consoleOperation({
    name: 'an undo',
    effect: 'write',
    input: undoInput.extend(confirmedFields),
    run: (context, input) => carriedOut(context, undo, input),
  }),

  'restore.plan': consoleOperation({
    name: 'the plan of a restore',
    effect: 'read',
    input: restoreInput,
    run: (context, input) => planned(context, restore, input),
  }),

  'restore.run': consoleOperation({
    name: 'a restore',
    effect: 'write',
    input: restoreInput.extend(confirmedFields),
    run: (context, input) => carriedOut(context, restore, input),
  }),

  'rollback.plan': consoleOperation({
    name: 'the plan of a rollback',
    effect: 'read',
    input: rollbackInput,
    run: (context, input) => planned(context, rollback, input),
  }),

  'rollback.run': consoleOperation({
    name: 'a rollback',
    effect: 'write',
    input: rollbackInput.extend(confirmedFields),
    run: (context, input) => carriedOut(context, rollback, input),
  }),
}

async function planned<Input>(
  { store, writer, work }: ConsoleContext,
  carry: Carry<Input>,
  input: Input,
) {
  const done = await carry(writer(), input, { ...work, dryRun: true }, store)
  return planOf(done, done.plan ?? '')
}

async function carriedOut<Input>(
  { store, writer, work }: ConsoleContext,
  carry: Carry<Input>,
  input: Input & Confirmation,
) {
  const { plan, reason } = input
  return planOf(await carry(writer(reason), input, { ...work, confirmed: plan }, store), plan)
}

/** `plan` names the steps: a run does them, or is refused with `precondition_failed`. */
function planOf({ commit: done, steps, left }: Revert, plan: string) {
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

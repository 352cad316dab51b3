// What takes changes back: first what would be done, then that and nothing else.

import { z } from 'zod'
import { StoreError } from '../../errors.ts'
import { doubtSentence } from '../../store/history/doubtful-times.ts'
import type { VersionGroup } from '../../store/history/timeline.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import type { Revert } from '../../store/revert/restore.ts'
import type { LeftAlone } from '../../store/revert/revert-plan.ts'
import type { RevertOptions } from '../../store/revert/revert.ts'
import type { UndoRequest } from '../../store/revert/undo.ts'
import type { StoreWriter } from '../../store/store-writer.ts'
import type { FieldsOf } from '../schemas.ts'
import {
  type ConsoleContext,
  commit,
  hash,
  reading,
  reasonField,
  short,
  time,
  writing,
} from './operation.ts'
import { groupsOf } from './review.ts'

/** Undoes what the session or the actor of this version wrote, or the one change it is of. */
const undoFields = {
  versionId: short,
  by: z.enum(['session', 'actor', 'change']),
  since: time.optional(),
  until: time.optional(),
}
const restoreFields = { memoryId: short, versionId: short.optional(), commit: commit.optional() }
const rollbackFields = { commit, path: short.optional() }
/** A run names the plan that the user saw. */
const confirmedFields = { plan: hash, ...reasonField }

type Carry = (me: StoreWriter, options: RevertOptions) => Promise<Revert>

function undo(store: MemoryStore, input: FieldsOf<typeof undoFields>): Carry {
  return async (me, options) => me.undo(await undoRequest(store, input), options)
}

function restore(input: FieldsOf<typeof restoreFields>): Carry {
  const { memoryId: memory, versionId, commit: of } = input
  const commitOf = of === undefined ? undefined : { commit: of }
  const to = versionId === undefined ? commitOf : { versionId }
  return (me, options) => me.restore({ memory, to }, options)
}

function rollback({ commit: to, path }: FieldsOf<typeof rollbackFields>): Carry {
  return (me, options) => me.rollback({ to: { commit: to }, path }, options)
}

export const revertsOperations = {
  'undo.plan': reading(undoFields, async (context, input) => {
    return withBefore(context, input, await planned(context, undo(context.store, input)))
  }),

  'undo.run': writing('an undo', { ...undoFields, ...confirmedFields }, async (context, input) => {
    // Listed before the undo: a later change must be reviewed.
    const cards = await coveredCards(context, input)
    const done = await carriedOut(context, undo(context.store, input), input)
    // A memory that was left alone has the undone text still, which no one may have looked at.
    if (done.left.length === 0) context.seen.mark(cards.flatMap(({ tips }) => tips))
    return withBefore(context, input, done)
  }),

  'restore.plan': reading(restoreFields, (context, input) => planned(context, restore(input))),

  'restore.run': writing('a restore', { ...restoreFields, ...confirmedFields }, (context, input) =>
    carriedOut(context, restore(input), input),
  ),

  'rollback.plan': reading(rollbackFields, (context, input) => planned(context, rollback(input))),

  'rollback.run': writing(
    'a rollback',
    { ...rollbackFields, ...confirmedFields },
    (context, input) => carriedOut(context, rollback(input), input),
  ),
}

async function planned({ writer, work }: ConsoleContext, carry: Carry) {
  const done = await carry(writer(), { ...work, dryRun: true })
  return planOf(done, done.plan ?? '')
}

async function carriedOut(
  { writer, work }: ConsoleContext,
  carry: Carry,
  { plan, reason }: FieldsOf<typeof confirmedFields>,
) {
  return planOf(await carry(writer(reason), { ...work, confirmed: plan }), plan)
}

/** `plan` names the steps: a run does them, or is refused with `precondition_failed`. */
function planOf({ commit: done, versionIds, steps, left, doubtful }: Revert, plan: string) {
  const alone: readonly LeftBehind[] = left
  // Any version of the commit names it: that is how it is taken back.
  const doubt = doubtful && doubtSentence(doubtful)
  return { commit: done, versionId: versionIds[0], steps, left: alone, plan, doubt }
}

export interface LeftBehind extends LeftAlone {
  /** The version before the undone ones, which the user may restore instead. */
  readonly before?: string | undefined
}

/** Names the version to restore for each memory that is left alone. */
async function withBefore(
  context: ConsoleContext,
  input: FieldsOf<typeof undoFields>,
  plan: ReturnType<typeof planOf>,
): Promise<ReturnType<typeof planOf>> {
  if (plan.left.length === 0) return plan
  const { changes = [] } = (await undoneGroup(context, input)) ?? {}
  const known = new Map(changes.map(({ memoryId, before }) => [memoryId, before]))
  const left = plan.left.map((one) => ({ ...one, before: known.get(one.memoryId) }))
  return { ...plan, left }
}

/** The changes by the session or actor; undefined for a single change. */
async function undoneGroup(
  { store, work }: ConsoleContext,
  { versionId, by, since, until }: FieldsOf<typeof undoFields>,
) {
  if (by === 'change') return undefined
  return store.history.group(versionId, { since, until }, { by }, work)
}

/**
 * The cards of the review whose every change the undo takes back. An actor has one card without a
 * session; its sessions may hold the changes of other actors.
 */
async function coveredCards(
  context: ConsoleContext,
  { versionId, by, since = -Infinity, until = Infinity }: FieldsOf<typeof undoFields>,
): Promise<readonly VersionGroup[]> {
  if (by === 'change') return []
  const { session, createdBy } = await context.store.history.version(versionId)
  const isMeant = (card: VersionGroup): boolean =>
    by === 'session'
      ? session !== undefined && card.session === session
      : card.session === undefined && card.actor?.id === createdBy?.id
  const cards = await groupsOf(context)
  return cards.filter((card) => isMeant(card) && since <= card.first && card.last <= until)
}

/** Throws `not_found` if the version names no session or actor. */
async function undoRequest(
  store: MemoryStore,
  { versionId, by, since, until }: FieldsOf<typeof undoFields>,
): Promise<UndoRequest> {
  if (by === 'change') return { changeOf: versionId, since, until }
  const { session, createdBy } = await store.history.version(versionId)
  const who = by === 'session' ? { session } : { actorId: createdBy?.id }
  if ((who.session ?? who.actorId) !== undefined) return { ...who, since, until }
  throw new StoreError('not_found', `The version names no ${by}`)
}

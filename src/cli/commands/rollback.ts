// `restore` and `rollback`: return to an earlier state, in one new commit that can be undone too.
// The store decides what happens to each memory; this file asks for it, shows it and gets consent.

import { type DoubtfulTimes, hasCode } from '../../errors.ts'
import type { Author } from '../../store/commits/commit-context.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import type { Revert } from '../../store/revert/restore.ts'
import type { RevertOptions } from '../../store/revert/revert.ts'
import type { UndoRequest } from '../../store/revert/undo.ts'
import {
  CommandError,
  type Answer,
  type Command,
  type Context,
  type Input,
  usageError,
} from '../call/command.ts'
import {
  authorOf,
  authorOptions,
  colourOption,
  dryRunOption,
  pointForms,
  selectingAuthorOf,
  selectingAuthorOptions,
  stampedOption,
  yesOption,
} from '../call/options.ts'
import { doubtLine, noteDoubt, refusedByDoubt, shellWord, waysOut } from '../store/doubt.ts'
import { notePartial } from '../store/granted.ts'
import { grantIdOf } from '../store/named.ts'
import { withStore } from '../store/open-store.ts'
import { neverWas } from '../store/path-history.ts'
import { pointOf } from '../store/points.ts'
import { inkOf, plainInk } from '../terminal/ink.ts'
import { sentencesText } from '../terminal/output.ts'
import { withProgress } from '../terminal/progress.ts'
import { askYes, canAsk, declined } from '../terminal/prompt.ts'
import { didYouMean } from '../text/near-names.ts'
import { leftColumns, revertAnswer, stepColumns } from '../text/reverts.ts'
import { storePath } from '../text/store-path.ts'
import { askedTable } from '../text/table.ts'
import { spanOf } from '../text/times.ts'
import { countText } from '../text/words.ts'

const oneCommit =
  'The result is one new commit, which can itself be undone. A memory that cannot be changed ' +
  'back is left unchanged and listed; the exit code is then 4.'

export const commands: readonly Command[] = [
  {
    name: 'restore',
    summary: 'Restore an earlier state of one memory, also after it was deleted',
    usage: '<path-or-memory>',
    options: {
      '--to <point>': 'One of its versions, or a time; else its last state, if it is deleted',
      ...stampedOption,
      ...dryRunOption,
      ...colourOption,
      ...authorOptions,
    },
    notes: [
      'The memory keeps its id and gets a new version. A path means the memory that is there, or ' +
        `else the one that was there last. ${pointForms}`,
    ],
    run: restore,
  },
  {
    name: 'rollback',
    destroys: true,
    summary: 'Restore all memories as of a point in time, or undo what an actor or a session wrote',
    options: {
      '--to <point>': 'The point in time',
      ...stampedOption,
      '--path <path>': 'With --to: only memories now or then at or below it',
      '--actor <id>': 'Undo what this actor wrote',
      '--session <id>': 'Undo what this session wrote',
      '--grant <grant>': 'Undo what the holder of this grant wrote',
      '--since <time>': 'Undo nothing older',
      '--until <time>': 'Undo nothing newer',
      ...dryRunOption,
      ...yesOption,
      ...colourOption,
      ...selectingAuthorOptions,
    },
    notes: [
      'Undoing puts every memory into the state that it would have without those versions. Later ' +
        'edits by others are kept: if they touch other lines, the two are merged; where they ' +
        'touch the same lines, the memory is left unchanged.',
      `${oneCommit} Asks on a terminal. ${pointForms}`,
    ],
    run: rollback,
  },
]

/** Plans a revert, and applies it unless `dryRun` is set. */
type RunRevert = (dryRun: boolean) => Promise<Revert>

function restore(context: Context, input: Input): Promise<Answer> {
  const named = input.argument(0)
  const memory = named.startsWith('mem_') ? named : storePath(named)
  const author = authorOf(context, input)
  return withStore(context, async (store) => {
    const to = await pointOf(context, input, 'to', store)
    const revert = withOptions(context, 'Restoring', (options) =>
      store.as(author).restore({ memory, to }, options),
    )
    const waysOf = (found: DoubtfulTimes): string =>
      waysOut(context, input, `restore ${shellWord(memory)}`, found)
    const dryRun = input.flag('dry-run')
    const done = await revert(dryRun)
      .catch((error: unknown) => explained(store, memory, error))
      .catch((error: unknown) => refusedByDoubt(store, error, waysOf))
    await noteDoubt(context, store, done.doubtful)
    return revertAnswer(context, inkOf(context, input), done, dryRun)
  })
}

/** Names similar paths where a path has never had a memory, and the way to restore a directory. */
async function explained(store: MemoryStore, memory: string, error: unknown): Promise<never> {
  if (!hasCode(error, 'not_found') || error.details.path !== memory) throw error
  const { data } = await store.history.versions({ path: memory, limit: 1 })
  if (data.length === 0) throw await neverWas(store, memory)
  const hint = `\`gitlocket rollback --path ${memory} --to <point>\` restores the memories below it`
  throw new CommandError('not_found', `${memory} was a directory, not a memory`, hint)
}

export function rollback(context: Context, input: Input): Promise<Answer> {
  checkOptions(input)
  const asked = undoRequestOf(context, input)
  const author = selectingAuthorOf(context, input)
  const ink = inkOf(context, input)
  return withStore(context, async (store) => {
    notePartial(context, store)
    const undo = { ...asked, grantId: await grantIdOf(context, input, store) }
    const planned = await revertOf(context, input, store, { author, undo })
    const waysOf = (found: DoubtfulTimes): string => waysOut(context, input, 'rollback', found)
    const revert: RunRevert = (only) =>
      planned(only).catch((error: unknown) => refusedByDoubt(store, error, waysOf))
    const dryRun = input.flag('dry-run')
    const asks = !dryRun && canAsk(context) && !input.flag('yes')
    const doubt = async (found: Revert): Promise<string | undefined> =>
      found.doubtful && doubtLine(store, found.doubtful, waysOf(found.doubtful))
    if (asks) {
      const plan = await revert(true)
      await agree(context, plan, await doubt(plan))
    }
    const done = await revert(dryRun)
    const line = asks ? undefined : await doubt(done)
    if (line !== undefined) context.notices.push(line)
    if (done.steps.length + done.left.length === 0) await checkHasWritten(store, undo)
    return revertAnswer(context, ink, done, dryRun)
  })
}

function checkOptions(input: Input): void {
  const given = (...names: readonly string[]): string | undefined =>
    names.find((name) => input.text(name) !== undefined)
  const undo = given('session', 'actor', 'grant')
  if (input.text('to') !== undefined) {
    const extra = undo ?? given('since', 'until')
    if (extra !== undefined) throw usageError(`Give --to or --${extra}, not both`, 'rollback')
    return
  }
  if (undo === undefined) {
    throw usageError(
      'rollback needs --to, or --session, --actor or --grant to undo their writes',
      'rollback',
    )
  }
  if (given('path') !== undefined) throw usageError('--path needs --to', 'rollback')
  if (input.flag('stamped')) throw usageError('--stamped needs --to', 'rollback')
}

async function revertOf(
  context: Context,
  input: Input,
  store: MemoryStore,
  { author, undo }: { readonly author: Author; readonly undo: UndoRequest },
): Promise<RunRevert> {
  const to = await pointOf(context, input, 'to', store)
  if (to !== undefined) {
    const path = input.text('path')
    const request = { to, ...(path === undefined ? {} : { path: storePath(path) }) }
    return withOptions(context, 'Rolling back', (options) =>
      store.as(author).rollback(request, options),
    )
  }
  return withOptions(context, 'Undoing', (options) => store.as(author).undo(undo, options))
}

function undoRequestOf(context: Context, input: Input): UndoRequest {
  const [actorId, session] = [input.text('actor'), input.text('session')]
  return { actorId, session, ...spanOf(context, input) }
}

/** Throws `not_found`, with similar names, if the actor or session has never written anything. */
async function checkHasWritten(
  store: MemoryStore,
  { actorId, session }: UndoRequest,
): Promise<void> {
  const actors = new Set<string>()
  const sessions = new Set<string>()
  for await (const { createdBy, session: found } of store.history.versions({ limit: 1000 })) {
    if (createdBy !== undefined) actors.add(createdBy.id)
    if (found !== undefined) sessions.add(found)
  }
  checkKnown('actor', actorId, actors)
  checkKnown('session', session, sessions)
}

function checkKnown(kind: string, id: string | undefined, known: ReadonlySet<string>): void {
  if (id === undefined || known.has(id)) return
  const message = `No ${kind} "${id}" has written anything${didYouMean(id, known, 3)}`
  throw new CommandError('not_found', message, `\`gitlocket log\` shows each ${kind}`)
}

function withOptions(
  context: Context,
  title: string,
  revert: (options: RevertOptions) => Promise<Revert>,
): RunRevert {
  return (dryRun) =>
    withProgress(context, title, ({ progress, signal }) => revert({ dryRun, signal, progress }))
}

/** Shows what would be done. Throws unless the user agrees. */
async function agree(context: Context, plan: Revert, doubt: string | undefined): Promise<void> {
  if (doubt !== undefined) process.stderr.write(sentencesText(`${doubt}\n`, process.stderr.columns))
  if (plan.steps.length === 0) return
  const count = countText(plan.steps.length, 'memory', 'memories')
  const left = askedTable(context, plan.left, leftColumns)
  process.stderr.write(askedTable(context, plan.steps, stepColumns(plainInk)))
  if (left !== '') process.stderr.write(`\n${left}`)
  if (await askYes(context, `Change ${count}, in one commit that can be rolled back?`)) return
  throw declined({ preview: '--dry-run shows the patch' })
}

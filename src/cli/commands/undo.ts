// `undo`: takes back what a session wrote. On a terminal the user picks it from a list, sees the
// difference and agrees; elsewhere it is named, and --yes agrees. What happens to each memory, the
// store decides. An undo is a session of its own, so that it can be undone too.

import { StoreError } from '../../errors.ts'
import { surfaceOf } from '../../operations/error-surface.ts'
import { pageJson, type Wire } from '../../operations/wire.ts'
import type { VersionGroup } from '../../store/history/timeline.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import type { Revert } from '../../store/revert/restore.ts'
import {
  type Answer,
  type Command,
  CommandError,
  type Context,
  type Input,
  usageError,
} from '../call/command.ts'
import {
  colourOption,
  dryRunOption,
  selectingAuthorOf,
  selectingAuthorOptions,
  yesOption,
} from '../call/options.ts'
import { notePartial } from '../store/granted.ts'
import { withStore } from '../store/open-store.ts'
import { CHOICE_MARGIN, choose } from '../terminal/choose.ts'
import { inkOf, plainInk } from '../terminal/ink.ts'
import { withPager } from '../terminal/pager.ts'
import { withProgress } from '../terminal/progress.ts'
import { askLine, canAsk } from '../terminal/prompt.ts'
import { didYouMean } from '../text/near-names.ts'
import { revertAnswer } from '../text/reverts.ts'
import { type Column, tableText } from '../text/table.ts'
import { ageFormat } from '../text/times.ts'
import { countsText } from '../text/versions-text.ts'
import { wire } from '../text/wire.ts'
import { countText } from '../text/words.ts'
import { rollback } from './rollback.ts'

export const commands: readonly Command[] = [
  {
    name: 'undo',
    destroys: true,
    summary: 'Take back what a session wrote, and keep later edits by others',
    usage: '[<session>]',
    options: {
      '--session <id>': 'Undo this session, as `rollback` does',
      '--actor <id>': 'Undo what this actor wrote, as `rollback` does',
      '--grant <grant>': 'Undo what the holder of this grant wrote, as `rollback` does',
      '--since <time>': 'With those: undo nothing older',
      '--until <time>': 'With those: undo nothing newer',
      ...dryRunOption,
      ...yesOption,
      ...colourOption,
      ...selectingAuthorOptions,
    },
    notes: [
      'On a terminal it lists the last sessions, shows what undoing one would change, and undoes ' +
        'it with Enter. Elsewhere it lists them, or undoes the named one if --yes is given. The ' +
        'first letters of an id suffice if no other session has them.',
      'The result is one new commit of a session of its own, named at the end: undo that to take ' +
        'the undo back. A memory that cannot be changed back is left unchanged and listed; the ' +
        'exit code is then 4.',
    ],
    run: undo,
  },
]

const SESSIONS_MAX = 15

function undo(context: Context, input: Input): Promise<Answer> {
  const selectors = ['session', 'actor', 'grant']
  const selects = [...selectors, 'since', 'until'].some((name) => input.text(name))
  const named = input.findArgument(0)
  if (selects && named !== undefined) {
    throw new StoreError('invalid_input', 'Give a session, or options that select versions')
  }
  if (selects && selectors.every((name) => input.text(name) === undefined)) {
    throw usageError('--since and --until need --session, --actor or --grant', 'undo')
  }
  if (selects) return asRollback(context, input)
  return withStore(context, async (store) => {
    notePartial(context, store)
    const groups = await store.history.groups({}, { by: 'session' })
    const known = groups.flatMap(({ session, ...group }) =>
      session === undefined ? [] : [{ ...group, session }],
    )
    if (named !== undefined) return undoOne(context, input, store, findSession(known, named))
    await noteMirrored(context, store)
    if (known.length === 0) return { text: '', json: pageJson([]), note: nothingYet }
    const recent = await Promise.all(
      known.slice(0, SESSIONS_MAX).map((group) => describe(store, group)),
    )
    if (!canPick(context, input) || input.flag('yes')) return listOfSessions(context, input, recent)
    return pick(context, input, store, recent)
  })
}

/** Changes of mirrored files are in no session of the list, unless a hook knew it. */
async function noteMirrored(context: Context, store: MemoryStore): Promise<void> {
  const { data } = await store.history.versions({ actorId: 'mirror', limit: 1 })
  if (data.length === 0) return
  context.notices.push(
    'Changes of mirrored files whose session is not known are by `mirror`: ' +
      '`gitlocket undo --actor mirror --since 1h` takes the last ones back',
  )
}

/** Programs get the same JSON by either name. */
async function asRollback(context: Context, input: Input): Promise<Answer> {
  const answer = await rollback(context, input)
  return { ...answer, json: { type: 'rollback', ...Object(answer.json) } }
}

const nothingYet = 'No session has written to this store yet; `gitlocket log` lists other changes'

type SessionGroup = VersionGroup & { readonly session: string }

interface RecentSession {
  readonly group: SessionGroup
  /** The reason of its newest version. */
  readonly reason: string | undefined
}

/** By its id, or by the first letters of it. Throws `not_found` or `invalid_input`. */
function findSession(known: readonly SessionGroup[], typed: string): string {
  const ids = known.map(({ session }) => session)
  if (ids.includes(typed)) return typed
  const found = typed === '' ? [] : ids.filter((id) => id.startsWith(typed))
  const [first] = found
  if (first !== undefined && found.length === 1) return first
  const hint = '`gitlocket undo` lists the sessions'
  if (first === undefined) {
    const message = `No session "${typed}" has written anything${didYouMean(typed, ids, 3)}`
    throw new CommandError('not_found', message, hint)
  }
  throw new CommandError('invalid_input', `${found.length} sessions begin with "${typed}"`, hint)
}

async function describe(store: MemoryStore, group: SessionGroup): Promise<RecentSession> {
  const { reason } = await store.history.version(group.versionId)
  return { group, reason }
}

function listOfSessions(context: Context, input: Input, recent: readonly RecentSession[]): Answer {
  return {
    text: tableText(context, inkOf(context, input), recent, columnsOf(context)),
    inked: true,
    json: pageJson(recent.map(sessionJson)),
    note: 'Undo one with `gitlocket undo <session> --yes`; --dry-run shows what would change',
  }
}

function sessionJson({ group, reason }: RecentSession): Wire {
  const { session, memories, versions, created, modified, deleted, first, last } = group
  const counts = { memories, versions, created, modified, deleted }
  return wire({ type: 'session', session, reason, ...counts, firstAt: first, lastAt: last })
}

function columnsOf(context: Context): readonly Column<RecentSession>[] {
  const age = ageFormat(context)
  return [
    { head: 'SESSION', cell: ({ group }) => group.session, cut: 'end' },
    { head: 'CHANGES', cell: ({ group }) => countsText(group) },
    { head: 'WHEN', cell: ({ group }) => age(group.last) },
    { head: 'REASON', cell: ({ reason }) => reason ?? '', cut: 'end' },
  ]
}

/**
 * Whether the user can pick and agree. The plan is text on standard output, which must be
 * a terminal too: in a file or a pipe the user would not see it, and it would break JSON.
 */
function canPick(context: Context, input: Input): boolean {
  return canAsk(context) && context.environment.terminal.output && !input.flag('json')
}

async function pick(
  context: Context,
  input: Input,
  store: MemoryStore,
  recent: readonly RecentSession[],
): Promise<Answer> {
  const width = (process.stderr.columns ?? 80) - CHOICE_MARGIN
  const place = { environment: { terminal: { ...context.environment.terminal, width } } }
  const table = tableText(place, plainInk, recent, columnsOf(context))
  const [head = '', ...rows] = table.trimEnd().split('\n')
  const chosen = await choose(context, head, rows)
  const session = chosen === undefined ? undefined : recent[chosen]?.group.session
  if (session === undefined) return left
  return undoOne(context, input, store, session)
}

async function undoOne(
  context: Context,
  input: Input,
  store: MemoryStore,
  session: string,
): Promise<Answer> {
  const ink = inkOf(context, input)
  const id = undoIdOf(context)
  const { reason, actor } = selectingAuthorOf(context, input)
  const author = { actor, session: id, reason: reason ?? `Undid ${session}` }
  const run = (dryRun: boolean, confirmed?: string): Promise<Revert> =>
    withProgress(context, 'Undoing', (options) =>
      store.as(author).undo({ session }, { ...options, dryRun, confirmed }),
    )
  const plan = await run(true)
  const planned = revertAnswer(context, ink, plan, true)
  if (input.flag('dry-run') || plan.steps.length === 0) return planned
  if (!input.flag('yes')) {
    if (!canPick(context, input)) return unconfirmed(planned, plan)
    if (!(await agree(context, planned, plan))) return left
  }
  const done = revertAnswer(context, ink, await run(false, plan.plan), false)
  return {
    ...done,
    json: { ...Object(done.json), undone_session_id: session, session_id: id },
    note: `\`gitlocket undo ${id}\` takes this back`,
  }
}

/** The answer of a user who leaves the list or the question. */
const left: Answer = { text: '', json: { changed: false }, note: 'Nothing was changed' }

async function agree(context: Context, planned: Answer, plan: Revert): Promise<boolean> {
  await withPager(context, async (write) => void (await write(planned.text)))
  const count = countText(plan.steps.length, 'memory', 'memories')
  const typed = await askLine(context, `Enter changes ${count}, in one commit; q leaves them:`)
  return typed === ''
}

/** The plan, and the way to carry it out. */
function unconfirmed(planned: Answer, { steps }: Revert): Answer {
  const count = countText(steps.length, 'memory', 'memories')
  const message = `${count} would be changed, and there is no terminal to ask on`
  const error = new CommandError('invalid_input', message, 'Add --yes to continue')
  return { ...planned, paged: false, failures: [error], exitCode: surfaceOf(error).exitCode }
}

/** Unique in practice: the time, to a millisecond. */
function undoIdOf({ clock }: Context): string {
  return `undo-${new Date(clock()).toISOString().replaceAll(/[-:.]/g, '')}`
}

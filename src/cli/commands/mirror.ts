// `mirror`: a directory of plain files and a place of the store hold the same texts, live.
// Plaintext is on a disk because the user asks for it.

import { StoreError } from '../../errors.ts'
import { pageJson, type Wire } from '../../operations/wire.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import { type Answer, type Command, type Context, type Input, usageError } from '../call/command.ts'
import { yesOption } from '../call/options.ts'
import { remoteAccess } from '../machine/remote-access.ts'
import { mirrorLogin } from '../mirror/login.ts'
import type { Mirror, MirrorState, PassNotes } from '../mirror/mirror-state.ts'
import {
  bindMirror,
  changeMirror,
  getMirror,
  isSwapOn,
  mirrorFiles,
  runnerOf,
  unbindMirror,
} from '../mirror/mirrors.ts'
import type { PassOptions } from '../mirror/pass-work.ts'
import type { PassReport } from '../mirror/pass.ts'
import { withStore } from '../store/open-store.ts'
import { inkOf } from '../terminal/ink.ts'
import { answerText, errorText, stderrColumns } from '../terminal/output.ts'
import { askYes, canAsk } from '../terminal/prompt.ts'
import { tableText } from '../text/table.ts'
import { agoFormat } from '../text/times.ts'
import { countText, listOf } from '../text/words.ts'

export const commands: readonly Command[] = [
  {
    name: 'mirror',
    summary: 'Keep a directory of plain files and a place of the store the same',
    usage: '[<directory>]',
    options: {
      '--at <path>': 'The place in the store; else `/` and the name of the directory',
      '--sync': 'With --watch: also sync with the remotes, every 30 s and after changes',
      '--watch': 'Continue until it is ended; without a directory, for all mirrors',
      '--review': 'Write texts of other devices only after `mirror review` has shown them',
      '--only-markdown': 'Leave out all files but Markdown',
      '--with-config': 'Include files that programs run or load by themselves, such as .envrc',
      '--in-memory': 'The directory is in RAM, and is filled again after each boot',
    },
    notes: [
      'Each change of a file becomes a version, and each change of the store reaches the file. ' +
        'Edits on both sides are merged as by `sync`; an edit wins over a deletion. Left out are ' +
        'hidden files, temporary files of editors, binary files, and those that are too large.',
      'A directory that vanishes deletes nothing, and one that is emptied, or loses more than a ' +
        'fifth of its files within ten minutes, waits for `mirror confirm` or `mirror refill`.',
    ],
    run: mirror,
  },
  {
    name: 'mirror login',
    summary: 'Start `mirror --watch` whenever this user logs in',
    options: {
      '--sync': 'Also sync with the remotes',
      '--write': 'Write the file of systemd or launchd; else it is shown',
    },
    run: mirrorLogin,
  },
  { name: 'mirror list', summary: 'List the mirrors of this device', run: mirrorList },
  {
    name: 'mirror review',
    summary: 'Show texts of other devices, and write them into the files',
    usage: '<directory>',
    options: yesOption,
    run: mirrorReview,
  },
  {
    name: 'mirror confirm',
    destroys: true,
    summary: 'Delete the memories of files that were deleted',
    usage: '<directory>',
    run: (context, input) => settleOne(context, input, { isDeletionConfirmed: true }),
  },
  {
    name: 'mirror refill',
    summary: 'Write files again that were deleted',
    usage: '<directory>',
    run: (context, input) => settleOne(context, input, { isRefill: true }),
  },
  {
    name: 'mirror pause',
    summary: 'Leave a directory alone until `mirror` names it again',
    usage: '<directory>',
    run: mirrorPause,
  },
  {
    name: 'mirror stop',
    destroys: true,
    summary: 'Forget a mirror; its files and its memories remain',
    usage: '<directory>',
    run: mirrorStop,
  },
]

async function mirror(context: Context, input: Input): Promise<Answer> {
  const typed = input.findArgument(0)
  const watch = input.flag('watch')
  if (typed === undefined && !watch) {
    throw usageError('"mirror" needs a directory, or --watch for all mirrors', 'mirror')
  }
  return withStore(context, async (store) => {
    const bound =
      typed === undefined
        ? undefined
        : await bindMirror(context, store.id, {
            directory: typed,
            at: input.text('at'),
            isInMemory: input.flag('in-memory'),
            isMarkdownOnly: input.flag('only-markdown'),
            ...(input.flag('with-config') && { withConfiguration: true }),
            ...(input.flag('review') && { isReviewed: true }),
          })
    if (bound?.isInMemory === true && isSwapOn()) {
      context.notices.push('This machine has swap: texts in RAM may reach a disk')
    }
    if (watch) return watchAll(context, input, store, bound)
    if (bound === undefined) throw new StoreError('invalid_input', 'No directory was named')
    return reportAnswer(bound, await settle(context, store, bound, { isNamed: true }))
  })
}

async function settle(
  context: Context,
  store: MemoryStore,
  bound: Mirror,
  options: PassOptions,
): Promise<PassReport> {
  const runner = runnerOf(context, store, bound)
  try {
    return await runner.settle({ signal: context.interrupts.signal, ...options })
  } finally {
    await runner.close()
  }
}

const ending = 'Ended; all saved changes are kept, and the next start continues'

async function watchAll(
  context: Context,
  input: Input,
  store: MemoryStore,
  bound: Mirror | undefined,
): Promise<Answer> {
  const json = input.flag('json')
  const { watchMirrors } = await import('../mirror/watching.ts')
  const problems = new Map<string, string>()
  await context.interrupts.untilStopped(ending, () =>
    watchMirrors(
      {
        context,
        store,
        signal: context.interrupts.signal,
        ...(input.flag('sync') && { sync: quietSync(context, store) }),
        report(of, report, hasFindings) {
          problems.delete(of.id)
          const answer = reportAnswer(of, report)
          if (hasFindings && answer.note !== undefined) process.stderr.write(`${answer.note}\n`)
          process.stdout.write(answerText(answer, json, process.stdout.isTTY))
        },
        fail(of, error) {
          const text = errorText(error, json, undefined, stderrColumns())
          if (problems.get(of.id) !== text) process.stderr.write(text)
          problems.set(of.id, text)
        },
      },
      bound?.id,
    ),
  )
  return { text: '', json: { type: 'mirror_watch', ended: true } }
}

/** Syncs with every remote. A failure is told once, until a sync succeeds again. */
function quietSync(context: Context, store: MemoryStore) {
  const author = { actor: { type: 'service_account', id: 'mirror' } } as const
  const access = remoteAccess(context)
  let told = ''
  return async (signal: AbortSignal): Promise<void> => {
    let text = ''
    for (const { name: remote } of await store.remotes.list()) {
      try {
        await store.as(author).sync({ remote, access, signal, patient: true, isRead: false })
      } catch (error) {
        if (signal.aborted) break
        text += `${remote}: ${errorText(error, false, undefined)}`
      }
    }
    if (text !== told) process.stderr.write(text)
    told = text
  }
}

function settleOne(context: Context, input: Input, options: PassOptions): Promise<Answer> {
  return withStore(context, async (store) => {
    const found = getMirror(mirrorFiles(context, store.id).list(), input.argument(0))
    return reportAnswer(found, await settle(context, store, found, options))
  })
}

function mirrorList(context: Context, input: Input): Promise<Answer> {
  return withStore(context, async (store) => {
    const files = mirrorFiles(context, store.id)
    const rows = files.list().map((one) => ({ one, state: files.findState(one.id) }))
    const ago = agoFormat(context)
    const text = tableText(context, inkOf(context, input), rows, [
      { head: 'DIRECTORY', cell: ({ one }) => one.directory, cut: 'beginning', weight: 2 },
      { head: 'AT', cell: ({ one }) => placeOf(one), cut: 'beginning' },
      { head: 'FILES', cell: ({ state }) => String(state?.agreed.size ?? 0), align: 'right' },
      { head: 'LAST LOOK', cell: ({ state }) => (state?.notes ? ago(state.notes.time) : 'never') },
      { head: 'STATE', cell: ({ one, state }) => stateOf(one, state?.notes), cut: 'end' },
    ])
    const note =
      rows.length === 0 ? 'No mirror; `gitlocket mirror <directory>` makes one' : undefined
    const json = rows.map(({ one, state }) => listedJson(one, state))
    return { text, inked: true, json: pageJson(json), note }
  })
}

function mirrorReview(context: Context, input: Input): Promise<Answer> {
  return withStore(context, async (store) => {
    const found = getMirror(mirrorFiles(context, store.id).list(), input.argument(0))
    const before = await settle(context, store, found, {})
    const paths = before.notes.unreviewed
    if (paths.length === 0) return reportAnswer(found, before)
    const shown: string[] = []
    for (const path of paths) {
      const memory = await store.read(`${found.at}${path}`)
      if (memory === undefined) continue
      const [version] = (await store.history.versions({ memoryId: memory.memoryId, limit: 1 })).data
      shown.push(
        `${found.at}${path}, by ${version?.deviceId ?? 'another device'}:\n\n${memory.content}\n`,
      )
    }
    const text = shown.join('\n')
    if (!input.flag('yes')) {
      if (!canAsk(context)) {
        return { text, json: { unreviewed: paths }, note: 'Nothing was written; --yes writes it' }
      }
      process.stdout.write(answerText({ text, json: {} }, false, process.stdout.isTTY))
      if (!(await askYes(context, 'Write these texts into the files?'))) {
        return { text: '', json: { unreviewed: paths }, note: 'Nothing was written' }
      }
    }
    return reportAnswer(found, await settle(context, store, found, { isReviewed: true }))
  })
}

function mirrorPause(context: Context, input: Input): Promise<Answer> {
  return withStore(context, async (store) => {
    const { id, directory } = getMirror(mirrorFiles(context, store.id).list(), input.argument(0))
    await changeMirror(context, store.id, id, (one) => ({ ...one, isPaused: true }))
    return {
      text: `Paused the mirror of ${directory}; \`gitlocket mirror\` with it continues\n`,
      json: { directory, paused: true },
    }
  })
}

function mirrorStop(context: Context, input: Input): Promise<Answer> {
  return withStore(context, async (store) => {
    const found = getMirror(mirrorFiles(context, store.id).list(), input.argument(0))
    const { directory } = found
    // A crash may have left a file without its name, or a text that is not saved.
    if (!found.isPaused) await settle(context, store, found, {}).catch(ignoreRefusal)
    const isClean = await unbindMirror(context, store.id, found)
    const kept = `Texts that could not be saved are in ${directory}/.gitlocket-mirror`
    return {
      text: `The directory ${directory} is no longer mirrored; files and memories remain\n`,
      json: { directory, stopped: true },
      ...(isClean ? {} : { note: kept }),
    }
  })
}

function ignoreRefusal(error: unknown): void {
  if (!(error instanceof StoreError)) throw error
}

function reportAnswer(one: Mirror, report: PassReport): Answer {
  const { saved, deleted, written, removed, notes } = report
  const parts = [
    ...(saved === 0 ? [] : [`saved ${countText(saved, 'change', 'changes')}`]),
    ...(deleted === 0 ? [] : [`deleted ${countText(deleted, 'memory', 'memories')}`]),
    ...(written === 0 ? [] : [`wrote ${countText(written, 'file', 'files')}`]),
    ...(removed === 0 ? [] : [`removed ${countText(removed, 'file', 'files')}`]),
  ]
  const what = parts.length === 0 ? 'nothing to do' : parts.join(', ')
  const note = noteOf(one, notes)
  return {
    text: `${one.directory} and ${placeOf(one)}: ${what}\n`,
    json: { ...mirrorJson(one), saved, deleted, written, removed, ...notesJson(notes) },
    ...(note === '' ? {} : { note }),
  }
}

function noteOf({ directory }: Mirror, notes: PassNotes): string {
  const { problem, deletions, unreviewed, leftOut } = notes
  return [
    ...(problem === undefined ? [] : [`Nothing is mirrored: ${problem}`]),
    ...(deletions.length === 0
      ? []
      : [
          `Deleted at once: ${countText(deletions.length, 'file', 'files')}. Their memories ` +
            `remain:\n${listOf(deletions)}\n\`gitlocket mirror confirm ${directory}\` ` +
            'deletes them, `mirror refill` writes the files again',
        ]),
    ...(unreviewed.length === 0
      ? []
      : [
          `Written by other devices, for \`gitlocket mirror review ${directory}\`:\n` +
            listOf(unreviewed),
        ]),
    ...(leftOut.length === 0
      ? []
      : [`Left out:\n${listOf(leftOut.map(({ path, reason }) => `${path}: ${reason}`))}`]),
  ].join('\n')
}

function stateOf({ isPaused }: Mirror, notes: PassNotes | undefined): string {
  if (isPaused) return 'paused'
  if (notes === undefined) return 'not looked at yet'
  if (notes.problem !== undefined) return notes.problem
  const parts = [
    ...(notes.deletions.length === 0
      ? []
      : [`${countText(notes.deletions.length, 'deletion', 'deletions')} to confirm`]),
    ...(notes.unreviewed.length === 0
      ? []
      : [`${countText(notes.unreviewed.length, 'text', 'texts')} to review`]),
    ...(notes.leftOut.length === 0
      ? []
      : [`${countText(notes.leftOut.length, 'path', 'paths')} left out`]),
  ]
  return parts.length === 0 ? 'the same' : parts.join(', ')
}

function placeOf({ at }: Mirror): string {
  return at === '' ? '/' : at
}

function listedJson(one: Mirror, state: MirrorState | undefined): Wire {
  return { ...mirrorJson(one), files: state?.agreed.size ?? 0, ...notesJson(state?.notes) }
}

function mirrorJson(one: Mirror): Wire {
  return {
    type: 'mirror',
    directory: one.directory,
    at: placeOf(one),
    paused: one.isPaused,
    in_memory: one.isInMemory,
    only_markdown: one.isMarkdownOnly,
    review: one.isReviewed,
  }
}

function notesJson(notes: PassNotes | undefined): Wire {
  return {
    last_look: notes === undefined ? null : new Date(notes.time).toISOString(),
    problem: notes?.problem ?? null,
    deletions: notes?.deletions ?? [],
    unreviewed: notes?.unreviewed ?? [],
    left_out: notes?.leftOut.map(({ path, reason }) => ({ path, reason })) ?? [],
  }
}

// `diff`: compares two versions, or all memories at two points in time.

import { pageJson } from '../../operations/wire.ts'
import type { Difference, PointDifference } from '../../store/history/history-diff.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import { countHidden } from '../../text/visible.ts'
import { type Answer, type Command, type Context, type Input, usageError } from '../call/command.ts'
import { colourOption, pointForms, stampedOption } from '../call/options.ts'
import { judgeFiles, type Verdict } from '../machine/file-rule.ts'
import { doubtAt } from '../store/doubt.ts'
import { withStore } from '../store/open-store.ts'
import { getNamedVersion } from '../store/path-history.ts'
import { getPoint, loadHistory, pointJson, pointOf } from '../store/points.ts'
import { inkOf, plainInk, type Ink } from '../terminal/ink.ts'
import {
  changeJson,
  findBase,
  nameOf,
  paintPatch,
  patchesText,
  statText,
  versionPatch,
} from '../text/patch-text.ts'
import { storePath } from '../text/store-path.ts'
import { versionJson, wire } from '../text/wire.ts'
import { countText } from '../text/words.ts'

export const commands: readonly Command[] = [
  {
    name: 'diff',
    summary: 'Compare a version with the one before it or with another, or two points in time',
    usage: '[<version-or-path>] [<version-or-path>]',
    options: {
      '--from <point>': 'Compare all memories, or those below a path',
      '--to <point>': 'With --from: the other point; else now',
      ...stampedOption,
      '--stat': 'With --from: the number of changed lines per memory',
      '--name-only': 'With --from: paths only',
      ...colourOption,
    },
    notes: [
      'A path means the newest version of the memory there; with --from, everything below it. A ' +
        'time before the first commit means the empty store.',
      '`git apply` accepts the patch. A memory that is redacted at one of two points appears as ' +
        `new or deleted, and is named before the patch. ${pointForms}`,
    ],
    run: diff,
  },
]

function diff(context: Context, input: Input): Promise<Answer> {
  checkOptions(input)
  const ink = inkOf(context, input)
  return withStore(context, async (store) => {
    await loadHistory(context, store)
    if (input.text('from') === undefined) return betweenVersions(store, ink, input)
    return betweenPoints(context, store, ink, input)
  })
}

function checkOptions(input: Input): void {
  const points = input.text('from') !== undefined
  if (!points) {
    const extra = ['to', 'stat', 'name-only'].find((name) => input.text(name) ?? input.flag(name))
    if (extra !== undefined) throw usageError(`--${extra} needs --from`, 'diff')
    if (input.findArgument(0) === undefined) {
      throw usageError('"diff" needs <version>, or --from', 'diff')
    }
  } else if (input.findArgument(1) !== undefined) {
    throw usageError('With --from, "diff" takes one path', 'diff')
  }
  if (input.flag('stat') && input.flag('name-only')) {
    throw usageError('Give --stat or --name-only, not both', 'diff')
  }
}

async function betweenVersions(store: MemoryStore, ink: Ink, input: Input): Promise<Answer> {
  const first = await getNamedVersion(store, input.argument(0))
  const second = input.findArgument(1)
  const [from, to] =
    second === undefined
      ? [await findBase(store, first), first]
      : [first, await getNamedVersion(store, second)]
  const patch = versionPatch(from, to)
  const { count, label } = countHidden(patch)
  return {
    text: paintPatch(ink, patch),
    json: {
      from: from === undefined ? null : versionJson(from),
      to: versionJson(to),
      diff: patch,
      hidden_characters: count,
    },
    inked: true,
    paged: true,
    note: label,
  }
}

async function betweenPoints(
  context: Context,
  store: MemoryStore,
  ink: Ink,
  input: Input,
): Promise<Answer> {
  const from = await getPoint(context, input, 'from', store)
  const to = await pointOf(context, input, 'to', store)
  const path = input.findArgument(0)
  const options = path === undefined ? {} : { path: storePath(path) }
  const found = await store.history.diff(from, to, options)
  const [doubtFrom, doubtTo] = [
    await doubtAt(context, store, from),
    await doubtAt(context, store, to),
  ]
  const { changes, redacted, halfRedacted } = found
  const patch = pointPatch(plainInk, found)
  const { count, label } = countHidden(patch)
  const notes = [
    ...(redacted === 0
      ? []
      : [`${countText(redacted, 'memory', 'memories')} cannot be compared: redacted`]),
    ...(label === undefined ? [] : [label]),
  ]
  return {
    text: textOf(ink, input, found),
    json: {
      type: 'diff',
      from: { ...pointJson(from), ...doubtFrom },
      to: to === undefined ? null : { ...pointJson(to), ...doubtTo },
      ...pageJson(changes.map((change) => changeJson(change))),
      redacted,
      half_redacted: halfRedacted.map(({ memoryId, before, after }) =>
        wire({ memoryId, pathBefore: before?.path, pathAfter: after?.path }),
      ),
      diff: patch,
      hidden_characters: count,
    },
    inked: true,
    paged: true,
    note: notes.join('\n'),
  }
}

function textOf(ink: Ink, input: Input, found: Difference): string {
  if (input.flag('stat')) return statText(ink, found.changes)
  if (!input.flag('name-only')) return pointPatch(ink, found)
  return found.changes.map((change) => `${ink.plain(nameOf(change))}\n`).join('')
}

/** A changed memory, with its paths and its patch. */
type Side = PointDifference['before']

/**
 * The patch between two points in time: `git apply` turns the files that `export --at` writes for
 * one into those that it writes for the other. Before the patches, where git ignores text, come
 * lines on what they cannot show faithfully.
 */
export function pointPatch(
  ink: Ink,
  { changes, halfRedacted }: Pick<Difference, 'changes' | 'halfRedacted'>,
): string {
  const files = [...changes, ...halfRedacted]
  const verdicts = judgeSides(files)
  const lines = [
    ...halfRedacted.map(redactedLine),
    ...Array.from(verdicts, ([path, verdict]) => verdictLine(path, verdict)),
  ]
  const written = (side: Side): Side =>
    side === undefined || verdicts.get(side.path)?.kind === 'unsafe' ? undefined : side
  const patches = patchesText(
    ink,
    files.map(({ before, after }) => ({ before: written(before), after: written(after) })),
  )
  return lines.map((line) => `${ink.plain(`# ${line}`)}\n`).join('') + patches
}

/** What `git apply` must not write, as by an export, though it applies the patch elsewhere. */
function judgeSides(changes: readonly PointDifference[]): ReadonlyMap<string, Verdict> {
  const paths = changes.flatMap(({ before, after }) => [before?.path ?? [], after?.path ?? []])
  return judgeFiles({ directory: '', paths: [...new Set(paths.flat())], existing: [] })
}

function verdictLine(path: string, { kind, reason }: Verdict): string {
  return kind === 'unsafe' ? `${path} is left out: it ${reason}` : `${path} ${reason}`
}

function redactedLine({ memoryId, before, after }: PointDifference): string {
  const at = after === undefined ? 'to' : 'from'
  const seems = after === undefined ? 'deleted' : 'new'
  const path = (after ?? before)?.path ?? ''
  return `${path} appears ${seems}: the content of ${memoryId} at --${at} is redacted`
}

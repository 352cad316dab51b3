// `log` and `show`: versions as git prints commits, a page at a time, so that the first lines of a
// long history appear immediately.

import { StoreError } from '../../errors.ts'
import { pageJson, type Wire } from '../../operations/wire.ts'
import type { FullVersion, Version, VersionFilter } from '../../store/history/versions.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import { countHidden } from '../../text/visible.ts'
import { type Answer, type Command, type Context, type Input, usageError } from '../call/command.ts'
import { colourOption } from '../call/options.ts'
import { grantIdOf, resolveVersion } from '../store/named.ts'
import { withStore } from '../store/open-store.ts'
import { findMovedTo, getNamedVersion } from '../store/path-history.ts'
import { loadHistory } from '../store/points.ts'
import { inkOf, type Ink } from '../terminal/ink.ts'
import { type Write, withPager } from '../terminal/pager.ts'
import type { DeviceNames } from '../text/device-text.ts'
import { findVersionPatch, paintPatch } from '../text/patch-text.ts'
import { storePath } from '../text/store-path.ts'
import { tableWriter } from '../text/table.ts'
import { findNow, spanOf } from '../text/times.ts'
import { doubtfulNote, versionColumns, versionText } from '../text/versions-text.ts'
import { namedVersionJson } from '../text/wire.ts'

export const commands: readonly Command[] = [
  {
    name: 'log',
    summary: 'Show the versions, newest first, at or below a path',
    usage: '[<path>]',
    options: {
      '--oneline': 'One line per version',
      '-p, --patch': 'Include the patch of each version',
      '--follow': 'Those of the memory that is at the path now, across renames',
      '-n, --limit <number>': 'At most this many',
      '--skip <number>': 'Leave out this many first',
      '--after <version>': 'Continue after this one, the `next_page` of --json',
      '--reverse': 'Oldest first; --limit counts from there',
      '--actor <id>': 'Only those of this actor',
      '--session <id>': 'Only those of this session',
      '--grant <grant>': 'Only those of the holder of this grant',
      '--operation <created|modified|deleted>': 'Only this operation',
      '--redacted': 'Only redacted versions',
      '--since <time>': 'Nothing older: 36h, 7d, yesterday, 2026-01-31, or RFC 3339',
      '--until <time>': 'Nothing newer',
      ...colourOption,
    },
    notes: [
      'On a terminal it is shown in a pager, and the first versions appear immediately. A ' +
        'redacted version no longer has a path, so that only a log without a path shows it. If ' +
        'a memory has moved from the path, the log names the new one.',
    ],
    run: log,
  },
  {
    name: 'show',
    summary: 'Show a version with its content, and the inputs of a merge',
    usage: '<version-or-path>',
    options: colourOption,
    notes: [
      'A version is named by its id, or by the first digits of it. A path means the newest ' +
        'version of the memory that is there, or else of the one that was there last.',
    ],
    run: show,
  },
]

/** Versions that are read before the first of them shows. */
const PAGE = 200

interface LogRequest {
  readonly filter: VersionFilter
  readonly skip: number
  readonly most: number
  readonly oneline: boolean
  readonly patch: boolean
  readonly ink: Ink
  /** If undefined, times are absolute. */
  readonly now: number | undefined
}

/** The printed text also names devices. */
interface PrintRequest extends LogRequest {
  readonly context: Context
  readonly names: DeviceNames
}

interface ShownVersion {
  readonly version: Version
  readonly patch: string | undefined
}

function log(context: Context, input: Input): Promise<Answer> {
  const request = requestOf(context, input)
  return withStore(context, async (store) => {
    await loadHistory(context, store)
    const grantId = await grantIdOf(context, input, store)
    const filter = await filterIn(store, input, { ...request.filter, grantId })
    const found = selected(store, { ...request, filter })
    const { path } = request.filter
    const movedTo = path === undefined ? undefined : await findMovedTo(store, path)
    const names = await store.devices.names()
    if (input.flag('json')) return jsonAnswer(found, names)
    const marks = new Set<string>()
    const printed = { ...request, context, names }
    await withPager(context, (write) => writeAll(write, printed, found, marks))
    const moved = `${path} moved to ${movedTo}: \`gitlocket log ${movedTo}\` continues there`
    const isPart = store.history.beginning !== undefined
    const notes = [
      ...(movedTo === undefined ? [] : [moved]),
      ...marks,
      ...(isPart ? [partial] : []),
    ]
    return { text: '', json: undefined, note: notes.join('\n') }
  })
}

const partial = 'Earlier changes are not in this clone: `gitlocket fetch --all` gets them'

function show(context: Context, input: Input): Promise<Answer> {
  const ink = inkOf(context, input)
  return withStore(context, async (store) => {
    await loadHistory(context, store)
    const version = await getNamedVersion(store, input.argument(0))
    const now = findNow(context)
    const names = await store.devices.names()
    const inputs = version.inputs.map((one, index) => {
      const title = ink.paint('bold', `Input ${index + 1} of ${version.inputs.length}`)
      return `\n${title}\n${fullText(ink, one, now, names)}`
    })
    return {
      text: fullText(ink, version, now, names) + inputs.join(''),
      json: {
        ...fullJson(version, names),
        inputs: version.inputs.map((one) => fullJson(one, names)),
      },
      inked: true,
      paged: true,
    }
  })
}

function fullText(
  ink: Ink,
  version: FullVersion,
  now: number | undefined,
  names: DeviceNames,
): string {
  const { content } = version
  const text = content === undefined ? `${missingText(version)}\n` : withFinalNewline(content)
  return `${versionText(ink, version, now, names, content)}\n${ink.plain(text)}`
}

/** Why there is no content. */
function missingText({ redactedAt }: FullVersion): string {
  return redactedAt === undefined ? '(the memory was deleted)' : '(the text was redacted)'
}

function fullJson(version: FullVersion, names: DeviceNames): Wire {
  const { content } = version
  const hidden_characters = countHidden(content ?? '').count
  return { ...namedVersionJson(version, names), content: content ?? null, hidden_characters }
}

function requestOf(context: Context, input: Input): LogRequest {
  const oneline = input.flag('oneline')
  const patch = input.flag('patch')
  if (oneline && patch) throw usageError('Give --oneline or --patch, not both', 'log')
  return {
    filter: filterOf(context, input),
    skip: input.integer('skip', 0, 1_000_000_000) ?? 0,
    most: input.integer('limit', 1, 1_000_000_000) ?? Number.POSITIVE_INFINITY,
    oneline,
    patch,
    ink: inkOf(context, input),
    now: findNow(context),
  }
}

function filterOf(context: Context, input: Input): VersionFilter {
  const path = input.findArgument(0)
  const operation = input.text('operation')
  return {
    path: path === undefined ? undefined : storePath(path),
    actorId: input.text('actor'),
    session: input.text('session'),
    operation: isOperation(operation) ? operation : undefined,
    ...spanOf(context, input),
    redacted: input.flag('redacted') ? true : undefined,
    order: input.flag('reverse') ? 'oldest' : 'newest',
  }
}

function isOperation(text: string | undefined): text is 'created' | 'modified' | 'deleted' {
  return text === 'created' || text === 'modified' || text === 'deleted'
}

/** Adds full ids, and the memory that is at the path now: only the store knows them. */
async function filterIn(
  store: MemoryStore,
  input: Input,
  filter: VersionFilter,
): Promise<VersionFilter> {
  const typed = input.text('after')
  const after = typed === undefined ? undefined : await resolveVersion(store, typed)
  if (!input.flag('follow')) return { ...filter, page: after }
  const { path, ...others } = filter
  const memory = path === undefined ? undefined : await store.read(path)
  if (memory !== undefined) return { ...others, page: after, memoryId: memory.memoryId }
  throw new StoreError('not_found', '--follow needs the path of a memory that exists')
}

/** The versions in the order of the filter. Returns the one to continue after, if any remain. */
async function* selected(
  store: MemoryStore,
  { filter, skip, most, patch }: LogRequest,
): AsyncGenerator<ShownVersion, string | undefined> {
  let [skipped, given] = [0, 0]
  let last: string | undefined
  for await (const version of store.history.versions({ ...filter, limit: PAGE })) {
    if (given === most) return last
    if (skipped < skip) {
      skipped += 1
      continue
    }
    const text = patch ? await findVersionPatch(store, version) : undefined
    yield { version, patch: text }
    given += 1
    last = version.versionId
  }
  return undefined
}

async function writeAll(
  write: Write,
  request: PrintRequest,
  found: AsyncIterable<ShownVersion>,
  notes: Set<string>,
): Promise<void> {
  if (request.oneline) return writeTable(write, request, found, notes)
  let isFirst = true
  for await (const shown of found) {
    const separator = isFirst ? '' : '\n'
    isFirst = false
    if (!(await write(separator + shownText(request, shown)))) return
  }
}

/** As many versions as are read at once are fitted at once. */
async function writeTable(
  write: Write,
  { context, ink }: PrintRequest,
  found: AsyncIterable<ShownVersion>,
  notes: Set<string>,
): Promise<void> {
  const tableOf = tableWriter(context, ink, versionColumns(context, ink))
  const print = (rows: readonly Version[]): Promise<boolean> => {
    const note = doubtfulNote(rows)
    if (note !== undefined) notes.add(note)
    return write(tableOf(rows))
  }
  let rows: Version[] = []
  for await (const { version } of found) {
    rows.push(version)
    if (rows.length < PAGE) continue
    if (!(await print(rows))) return
    rows = []
  }
  if (rows.length > 0) await print(rows)
}

function shownText({ ink, now, names }: PrintRequest, { version, patch }: ShownVersion): string {
  const below = patch === undefined || patch === '' ? '' : `\n${paintPatch(ink, patch)}`
  return versionText(ink, version, now, names, patch) + below
}

async function jsonAnswer(
  found: AsyncGenerator<ShownVersion, string | undefined>,
  names: DeviceNames,
): Promise<Answer> {
  const versions: unknown[] = []
  let next = await found.next()
  for (; next.done !== true; next = await found.next()) {
    const { version, patch } = next.value
    versions.push({
      ...namedVersionJson(version, names),
      ...(patch === undefined ? {} : { diff: patch }),
    })
  }
  return { text: '', json: pageJson(versions, next.value) }
}

function withFinalNewline(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`
}

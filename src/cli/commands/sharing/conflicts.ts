// `conflicts`: lists what merges have combined, and from which versions, until the user of this
// device has settled it or marked it as looked at.

import { pageJson, type Wire } from '../../../operations/wire.ts'
import type { Conflict } from '../../../store/history/conflicts.ts'
import type { MemoryStore } from '../../../store/memory-store.ts'
import {
  CommandError,
  type Answer,
  type Command,
  type Context,
  type Input,
  usageError,
} from '../../call/command.ts'
import { authorOptions, colourOption } from '../../call/options.ts'
import { resolveVersion } from '../../store/named.ts'
import { withStore } from '../../store/open-store.ts'
import { CONFLICTS_MAX, markSeen, readSeen } from '../../store/seen-conflicts.ts'
import { inkOf } from '../../terminal/ink.ts'
import { type DeviceNames, shortDeviceTexts } from '../../text/device-text.ts'
import { type Column, idColumn, tableText } from '../../text/table.ts'
import { ageFormat } from '../../text/times.ts'
import { wire } from '../../text/wire.ts'
import { countText } from '../../text/words.ts'
import { resolve } from './resolve.ts'

export const commands: readonly Command[] = [
  {
    name: 'conflicts',
    summary: 'Show what merges have combined, joined or moved aside, and from which versions',
    usage: '[<version-or-path>…]',
    options: {
      '-n, --limit <number>': 'At most this many',
      '--all': 'Also those that are marked as looked at',
      '--seen': 'Mark these versions, or all, as looked at on this device',
      '--resolve': 'Settle them, on a terminal one after the other with both sides in view',
      '--keep <side>': 'With --resolve: ours, theirs, both, or the name of the device',
      '--allow-disk-temp': 'With --resolve: accept a plaintext file on disk for the editor',
      ...colourOption,
      ...authorOptions,
    },
    notes: [
      '--resolve lets you choose the lines that both sides changed: those of this device (ours), ' +
        'of the other one (theirs), both as they are now, or your own text. Where no lines ' +
        'overlap, the whole text of a side is chosen. Edits that came after the merge are ' +
        'kept; if they touch the same lines, the exit code is 4. The choice is one new version, ' +
        'and marks the merge. A path means the newest merge of the memory.',
      '`show` prints a version that it names, with the versions that it was made from. Marks are ' +
        'kept on this device: other machines and their users list a conflict until they mark it.',
    ],
    run: conflicts,
  },
]

const LIMIT_DEFAULT = 50

function conflicts(context: Context, input: Input): Promise<Answer> {
  const limit = input.integer('limit', 1, CONFLICTS_MAX) ?? LIMIT_DEFAULT
  const mark = input.flag('seen')
  checkOptions(input)
  if (input.flag('resolve')) return resolve(context, input)
  return withStore(context, async (store) => {
    const seen = readSeen(context, store)
    const all = await store.history.conflicts({ limit: CONFLICTS_MAX })
    if (mark) return markNamed(context, store, input, all, seen)
    const shown = input.flag('all') ? all : all.filter(({ versionId }) => !seen.has(versionId))
    const found = shown.slice(0, limit)
    const names = await store.devices.names()
    const ink = inkOf(context, input)
    const rows: ConflictRow[] = []
    for (const conflict of found) rows.push(Object.assign(await textOf(store, conflict), conflict))
    const text = tableText(context, ink, rows, columnsOf(context, names))
    const data = found.map((one) => conflictJson(one, names, seen.has(one.versionId)))
    const note = noteOf(found.length, all.length)
    return { text, inked: true, json: pageJson(data), paged: true, note }
  })
}

function checkOptions(input: Input): void {
  const [mark, settles] = [input.flag('seen'), input.flag('resolve')]
  if (mark && settles) throw usageError('Give --seen or --resolve, not both', 'conflicts')
  if (!mark && !settles && input.findArgument(0) !== undefined) {
    throw usageError('Versions are named with --seen or --resolve only', 'conflicts')
  }
  if (!settles && input.text('keep') !== undefined) {
    throw usageError('--keep needs --resolve', 'conflicts')
  }
}

/** Marks the named ones, or all. */
async function markNamed(
  context: Context,
  store: MemoryStore,
  input: Input,
  all: readonly Conflict[],
  seen: ReadonlySet<string>,
): Promise<Answer> {
  const named = await Promise.all(input.arguments(0).map((id) => resolveVersion(store, id)))
  const known = new Set(all.map(({ versionId }) => versionId))
  const unknown = named.find((id) => !known.has(id))
  if (unknown !== undefined) {
    const hint = '`gitlocket conflicts --all` lists them'
    throw new CommandError('not_found', `${unknown} is not a conflict`, hint)
  }
  const marked = (named.length > 0 ? named : [...known]).filter((id) => !seen.has(id))
  if (marked.length > 0) markSeen(context, store, marked)
  const count = countText(marked.length, 'conflict', 'conflicts')
  const text = `Marked ${count} as looked at on this device\n`
  return { text, json: { memory_version_ids: marked } }
}

function noteOf(shown: number, all: number): string | undefined {
  if (shown > 0) return undefined
  if (all === 0) return 'No merge has had to combine anything'
  return 'Each one was looked at on this device; --all lists them'
}

interface ConflictRow extends Conflict {
  /** The first line that not all sides had; empty if that is unknown. */
  readonly line: string
}

async function textOf(
  store: MemoryStore,
  { versionId }: Conflict,
): Promise<Pick<ConflictRow, 'line'>> {
  const { content = '', inputs } = await store.history.version(versionId)
  const sides = inputs.map((input) => new Set(input.content?.split('\n')))
  const lines = content.split('\n').filter((line) => line.trim() !== '')
  const differs = (line: string): boolean => sides.some((side) => !side.has(line))
  return { line: (lines.find(differs) ?? lines[0] ?? '').trim() }
}

function columnsOf(context: Context, names: DeviceNames): readonly Column<ConflictRow>[] {
  const age = ageFormat(context)
  const short = (ids: readonly string[]): readonly string[] => {
    const texts = shortDeviceTexts(ids, names)
    return ids.map((id) => texts.get(id) ?? '')
  }
  return [
    { head: 'PATH', cell: ({ path = '(redacted)' }) => path, cut: 'beginning', weight: 1.5 },
    { head: 'TEXT', cell: ({ line }) => line, cut: 'end', weight: 1.5 },
    { head: 'RESULT', cell: resultText },
    {
      head: 'BY',
      cell: ({ inputDevices }) => [...new Set(short(inputDevices))].toSorted().join(', '),
      exact: ({ inputDevices }) => inputDevices.join(','),
      cut: 'end',
    },
    { head: 'WHEN', cell: ({ time }) => age(time) },
    idColumn(({ versionId }) => versionId),
  ]
}

function resultText({ combination, joined, movedFrom }: Conflict): string {
  if (movedFrom !== undefined) return 'moved aside'
  if (joined !== undefined) return 'joined'
  if (combination === 'combined') return 'both kept'
  if (combination === 'kept') return 'one kept'
  return combination
}

function conflictJson(conflict: Conflict, names: DeviceNames, seen: boolean): Wire {
  const { time, joined, ...fields } = conflict
  const inputDevices = conflict.inputDevices.map((deviceId) => {
    return wire({ deviceId, deviceName: names.get(deviceId) })
  })
  const { versionId, memoryId, path, inputs, combination, kept, movedFrom, commit } = fields
  const what = { versionId, memoryId, path, inputs, combination, kept, joinedMemoryId: joined }
  return wire({ type: 'conflict', ...what, inputDevices, movedFrom, commit, createdAt: time, seen })
}

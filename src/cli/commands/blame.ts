// `blame`: which version each line of a memory came from, and who wrote it.

import { pageJson } from '../../operations/wire.ts'
import type { BlameLine } from '../../store/history/blame.ts'
import type { Version } from '../../store/history/versions.ts'
import type { Answer, Command, Context, Input } from '../call/command.ts'
import { atOption, colourOption } from '../call/options.ts'
import { doubtAt } from '../store/doubt.ts'
import { withStore } from '../store/open-store.ts'
import { loadHistory, pointOf } from '../store/points.ts'
import { inkOf, type Ink } from '../terminal/ink.ts'
import { shortDeviceTexts, type DeviceNames } from '../text/device-text.ts'
import { storePath } from '../text/store-path.ts'
import { type Column, idColumn, tableText } from '../text/table.ts'
import { authorColumns, doubtfulNote } from '../text/versions-text.ts'
import { namedVersionJson } from '../text/wire.ts'

export const commands: readonly Command[] = [
  {
    name: 'blame',
    summary: 'Show which version each line came from, and who wrote it',
    usage: '<path-or-memory>',
    options: { ...atOption, ...colourOption },
    notes: ['A line that may be older, because a version was redacted, is marked with *.'],
    run: blame,
  },
]

function blame(context: Context, input: Input): Promise<Answer> {
  const typed = input.argument(0)
  const memory = typed.startsWith('mem_') ? typed : storePath(typed)
  const ink = inkOf(context, input)
  return withStore(context, async (store) => {
    await loadHistory(context, store)
    const at = await pointOf(context, input, 'at', store)
    const lines = await store.history.blame(memory, at === undefined ? {} : { at })
    const doubt = await doubtAt(context, store, at)
    const names = await store.devices.names()
    const rows = rowsOf(lines, names)
    const uncertain = lines.some((line) => line.uncertain)
    const notes = [
      uncertain ? '* a version was redacted: the line may be older' : undefined,
      doubtfulNote(lines.map(({ version }) => version)),
    ]
    return {
      text: tableText(context, ink, rows, columnsOf(context, ink)),
      json: { ...blameJson(memory, lines, names), ...doubt },
      inked: true,
      paged: true,
      note: notes.filter((note) => note !== undefined).join('\n'),
    }
  })
}

interface BlameRow extends BlameLine {
  readonly number: number
  /** Empty unless several devices wrote the memory. */
  readonly device: string
  /** Whether the line before came from the same version. */
  readonly isRepeated: boolean
}

function rowsOf(lines: readonly BlameLine[], names: DeviceNames): readonly BlameRow[] {
  const ids = lines.map(({ version }) => version.deviceId)
  const devices = shortDeviceTexts(ids, names)
  return lines.map((line, index) => ({
    ...line,
    number: index + 1,
    device: devices.size === 1 ? '' : (devices.get(line.version.deviceId) ?? ''),
    isRepeated: lines[index - 1]?.version.versionId === line.version.versionId,
  }))
}

/** The text is last, as in a file. */
function columnsOf(context: Context, ink: Ink): readonly Column<BlameRow>[] {
  const versionOf = ({ version }: BlameRow): Version => version
  const paint = (shown: string, { isRepeated }: BlameRow): string =>
    isRepeated ? ink.paint('dim', shown) : ink.plain(shown)
  return [
    ...authorColumns(context, versionOf, paint),
    { head: 'DEVICE', cell: ({ device }) => device, cut: 'end', paint },
    idColumn(({ version }) => version.versionId),
    { head: '', cell: ({ uncertain }) => (uncertain ? '*' : ''), paint: 'yellow' },
    { head: 'LINE', cell: ({ number }) => String(number), align: 'right', paint: 'dim' },
    {
      head: 'TEXT',
      cell: ({ line }) => line.replaceAll('\t', '    '),
      exact: ({ line }) => line,
      cut: 'end',
      weight: 3,
    },
  ]
}

function blameJson(memory: string, lines: readonly BlameLine[], names: DeviceNames): object {
  const versions = new Map(lines.map(({ version }) => [version.versionId, version]))
  return {
    type: 'blame',
    memory,
    ...pageJson(
      lines.map(({ line, version, uncertain }, index) => ({
        type: 'blame_line',
        line_number: index + 1,
        text: line,
        memory_version_id: version.versionId,
        uncertain,
      })),
    ),
    versions: [...versions.values()].map((version) => namedVersionJson(version, names)),
  }
}

// `blame`: which version each line of a memory came from, and who wrote it.

import { pageJson } from '../../operations/wire.ts'
import type { BlameLine } from '../../store/history/blame.ts'
import type { Answer, Command, Context, Input } from '../call/command.ts'
import { atOption, colourOption } from '../call/options.ts'
import { withStore } from '../store/open-store.ts'
import { loadHistory, pointOf } from '../store/points.ts'
import { inkOf, type Ink } from '../terminal/ink.ts'
import { shortDeviceTexts, type DeviceNames } from '../text/device-text.ts'
import { storePath } from '../text/store-path.ts'
import { authorText, shortDate } from '../text/versions-text.ts'
import { namedVersionJson } from '../text/wire.ts'
import { shortId } from '../text/words.ts'

export const commands: readonly Command[] = [
  {
    name: 'blame',
    summary: 'Show which version each line came from, and who wrote it',
    usage: '<path-or-memory>',
    options: { ...atOption, ...colourOption },
    notes: ['A line that may be older, because a version was redacted, is marked with ?.'],
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
    const names = await store.devices.names()
    const now = context.environment.terminal.output ? context.clock() : undefined
    const uncertain = lines.some((line) => line.uncertain)
    return {
      text: blameText(ink, lines, now, names),
      json: blameJson(memory, lines, names),
      inked: true,
      paged: true,
      ...(uncertain ? { note: '? a version was redacted: the line may be older' } : {}),
    }
  })
}

/**
 * `memver_3k9f0z2c1d (user:alice s1 2026-01-31T12:00:00.000Z  7) text`, in columns; the
 * device only if there are several.
 */
function blameText(
  ink: Ink,
  lines: readonly BlameLine[],
  now: number | undefined,
  names: DeviceNames,
): string {
  const devices = shortDeviceTexts(
    lines.map(({ version }) => version.deviceId),
    names,
  )
  const rows = lines.map(({ version, uncertain, line }) => ({
    id: shortId(version.versionId) + (uncertain ? '?' : ' '),
    author: authorText(version),
    device: devices.size === 1 ? '' : (devices.get(version.deviceId) ?? ''),
    session: version.session ?? '',
    date: shortDate(version, now),
    line,
  }))
  const width = (of: (row: (typeof rows)[number]) => string): number =>
    rows.reduce((most, row) => Math.max(most, of(row).length), 0)
  const authorWidth = width(({ author }) => author)
  const deviceWidth = width(({ device }) => device)
  const sessionWidth = width(({ session }) => session)
  const dateWidth = width(({ date }) => date)
  const digits = String(lines.length).length
  const text = rows.map(({ id, author, device, session, date, line }, index) => {
    const who = [
      author.padEnd(authorWidth),
      ...(deviceWidth === 0 ? [] : [device.padEnd(deviceWidth)]),
      ...(sessionWidth === 0 ? [] : [session.padEnd(sessionWidth)]),
    ]
    const facts = [...who, date.padEnd(dateWidth)].join(' ')
    const number = String(index + 1).padStart(digits)
    return `${ink.paint('yellow', id)}(${ink.plain(facts)} ${number}) ${ink.plain(line)}\n`
  })
  return text.join('')
}

function blameJson(memory: string, lines: readonly BlameLine[], names: DeviceNames): unknown {
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

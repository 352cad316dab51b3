// `gitlocket` alone on a terminal: the changes since yesterday, by session, what needs attention,
// and when remotes were synced with. Without a store it shows how to begin.

import { pageJson } from '../../../operations/wire.ts'
import type { VersionGroup } from '../../../store/history/timeline.ts'
import type { MemoryStore } from '../../../store/memory-store.ts'
import type { StoreStatus } from '../../../store/store-report.ts'
import type { Answer, Command, Context, Input } from '../../call/command.ts'
import { attentionOfMirrors } from '../../mirror/attention.ts'
import { attentionText, findAttention } from '../../store/attention.ts'
import { withStoreOrTrail } from '../../store/open-store.ts'
import { loadHistory } from '../../store/points.ts'
import { findVanished, isNothingHere } from '../../store/vanished.ts'
import { type Ink, inkOf } from '../../terminal/ink.ts'
import { type Column, tableText } from '../../text/table.ts'
import { ageFormat, parseTime } from '../../text/times.ts'
import { countsText } from '../../text/versions-text.ts'
import { countText, sizeText } from '../../text/words.ts'
import { remoteText, statusOfTrail } from './status.ts'

/** It has no name, so that no table of verbs lists it. */
export const home: Command = { name: 'home', summary: 'Show the news', run }

/** More sessions are counted. */
const SESSIONS_MAX = 8
const LAST_MAX = 3

async function run(context: Context, input: Input): Promise<Answer> {
  const ink = inkOf(context, input)
  const { environment } = context
  if (isNothingHere(environment) && (await findVanished(environment)) === undefined)
    return begin(ink)
  const ofMember = async (store: MemoryStore): Promise<Answer> => {
    await loadHistory(context, store)
    const status = await store.status()
    const parts = [
      titleText(context, ink, status),
      await sessionsText(context, ink, store, status),
      attentionText(context, ink, [
        ...(await findAttention(context, store, status)),
        ...attentionOfMirrors(context, store),
      ]),
      `${ink.paint('dim', status.memories === 0 ? firstHint : undoHint)}\n`,
    ]
    return { text: parts.join('\n'), inked: true, json: pageJson([]) }
  }
  return withStoreOrTrail(context, ofMember, () => statusOfTrail(context, ink))
}

const undoHint = '`gitlocket undo` takes back what a session wrote'
const firstHint = '`gitlocket setup claude-code --write` gives an agent this memory'

function begin(ink: Ink): Answer {
  const lines = [
    ink.paint('bold', 'gitlocket: an encrypted, versioned memory for AI agents, on git'),
    '',
    'There is no store on this machine yet.',
    '',
    '  gitlocket init                       make one',
    '  gitlocket join <url>                 get one from a remote',
    '  gitlocket setup claude-code --write  give an agent the memory',
    '',
    '`gitlocket help` lists the daily commands.',
    '',
  ]
  return { text: lines.join('\n'), inked: true, json: pageJson([]) }
}

function titleText(context: Context, ink: Ink, status: StoreStatus): string {
  const { settings, memories, contentBytes, deviceName = '', deviceId, role = 'removed' } = status
  const count = `${countText(memories, 'memory', 'memories')}, ${sizeText(contentBytes)}`
  const device = `on ${deviceName === '' ? deviceId : deviceName} (${role})`
  const lines = [
    `${ink.paint('bold', settings.name)}  ${ink.plain(`${count}, ${device}`)}`,
    ...status.remotes.map((remote) => ink.plain(remoteText(context, remote))),
  ]
  return `${lines.join('\n')}\n`
}

/**
 * By agents, and by users of other devices, since the beginning of yesterday; if they have written
 * nothing since then, the last ones.
 */
async function sessionsText(
  context: Context,
  ink: Ink,
  store: MemoryStore,
  { deviceId: ownDevice }: StoreStatus,
): Promise<string> {
  const since = parseTime('since', 'yesterday', context.clock())
  const grouping = { by: 'unreviewed', reviewed: [], ownDevice } as const
  const recent = await store.history.groups({ since }, grouping)
  const isQuiet = recent.length === 0
  const groups = isQuiet ? await store.history.groups({}, grouping) : recent
  if (groups.length === 0) return 'No agent has written a memory yet.\n'
  const shown = groups.slice(0, isQuiet ? LAST_MAX : SESSIONS_MAX)
  const title = isQuiet ? 'Nothing since yesterday; before that' : 'Since yesterday'
  const more = countText(groups.length - shown.length, 'more session', 'more sessions')
  const rest = `and ${more}; \`gitlocket log --since yesterday\` shows all changes`
  return [
    `${ink.paint('bold', title)}\n`,
    tableText(context, ink, shown, groupColumns(context)),
    ...(isQuiet || groups.length === shown.length ? [] : [`${ink.paint('dim', rest)}\n`]),
  ].join('')
}

function groupColumns(context: Context): readonly Column<VersionGroup>[] {
  const age = ageFormat(context)
  return [
    { head: 'SESSION', cell: ({ session, actor }) => session ?? actor?.id ?? '', cut: 'end' },
    { head: 'CHANGES', cell: countsText },
    { head: 'MEMORIES', cell: ({ memories }) => String(memories), align: 'right' },
    { head: 'WHEN', cell: ({ last }) => age(last) },
    { head: 'REASON', cell: ({ reasons: [reason = ''] }) => reason, cut: 'end', weight: 2 },
  ]
}

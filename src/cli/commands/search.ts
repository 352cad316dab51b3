// `search`: which memories say what, a row for each, with the line that matches, who and when.

import { hasCode } from '../../errors.ts'
import { actorJson, hitObject, pageJson } from '../../operations/wire.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import { parseQuery } from '../../store/search/query-words.ts'
import type { SearchHit, SearchQuery } from '../../store/search/search-query.ts'
import { matchesIn } from '../../store/search/snippet.ts'
import type { Answer, Command, Context, Input } from '../call/command.ts'
import { atOption, colourOption, pointForms } from '../call/options.ts'
import { doubtAt } from '../store/doubt.ts'
import { withStore } from '../store/open-store.ts'
import { pointOf } from '../store/points.ts'
import { inkOf, type Ink } from '../terminal/ink.ts'
import { withProgress } from '../terminal/progress.ts'
import { storePath } from '../text/store-path.ts'
import { type Column, cutAround, idColumn, tableText } from '../text/table.ts'
import { authorColumns, type WrittenBy, doubtfulNote } from '../text/versions-text.ts'

export const commands: readonly Command[] = [
  {
    name: 'search',
    summary: 'Find memories by what they say, the best first, with the line that matches',
    usage: '<word>…',
    options: {
      '--path <path>': 'Only memories at or below it',
      '--fuzzy': 'Words that differ by a few letters match too',
      '--whole-words': 'Words that only begin with those given do not match',
      '-E, --regex': 'A regular expression of JavaScript, line by line',
      ...atOption,
      '--all-versions': 'Every version, not only the newest',
      '-n, --limit <number>': 'At most this many, up to 100',
      '--after <cursor>': 'Go on after the `next_page` of --json',
      ...colourOption,
    },
    notes: [
      'Case and accents do not matter, and paths are searched too. Memories with all words come ' +
        'before those with some. Where a script has no spaces, any part of a text is found. A ' +
        'regular expression is matched without regard to case, for at most two seconds.',
      pointForms,
    ],
    run: search,
  },
]

/** A hit, and the version that it shows. */
interface FoundHit {
  readonly hit: SearchHit
  readonly version: WrittenBy
}

const LIMIT_MAX = 100

function search(context: Context, input: Input): Promise<Answer> {
  const ink = inkOf(context, input)
  return withStore(context, async (store) => {
    const query = await queryOf(context, input, store)
    const { data, nextPage } = await withProgress(context, 'Searching', (options) =>
      store.search({ ...query, ...options }),
    )
    const doubt = await doubtAt(context, store, query.at)
    const found: FoundHit[] = []
    for (const hit of data) {
      found.push({ hit, version: await findAuthor(store, hit) })
    }
    const notes = [
      noteOf(found.length, nextPage),
      doubtfulNote(found.map(({ version }) => version)),
    ]
    return {
      text: tableText(context, ink, found, columnsOf(context, ink, query)),
      json: {
        ...pageJson(
          found.map((one) => foundJson(store.id, one)),
          nextPage,
        ),
        ...doubt,
      },
      inked: true,
      paged: true,
      note: notes.filter((note) => note !== undefined).join('\n'),
    }
  })
}

async function queryOf(context: Context, input: Input, store: MemoryStore): Promise<SearchQuery> {
  return {
    query: input.arguments(0).join(' '),
    prefix: !input.flag('whole-words'),
    fuzzy: input.flag('fuzzy'),
    regex: input.flag('regex'),
    path: input.parsed('path', storePath),
    at: await pointOf(context, input, 'at', store),
    allVersions: input.flag('all-versions'),
    limit: input.integer('limit', 1, LIMIT_MAX),
    after: input.text('after'),
  }
}

/** In a clone without history, authors of what it began with are not known; times are. */
async function findAuthor(store: MemoryStore, { memory }: SearchHit): Promise<WrittenBy> {
  try {
    return await store.history.version(memory.versionId)
  } catch (error) {
    if (!hasCode(error, 'history_needed')) throw error
    const { updatedAt: createdAt } = memory
    return { createdAt, placedAt: undefined, createdBy: undefined, session: undefined }
  }
}

function noteOf(count: number, nextPage: string | undefined): string | undefined {
  if (count === 0) return 'Nothing matches'
  if (nextPage === undefined) return undefined
  return 'More match: --limit shows up to 100, and --json has the cursor for --after'
}

/** A hit of one version is told from another of the same memory by its id. */
function columnsOf(context: Context, ink: Ink, query: SearchQuery): readonly Column<FoundHit>[] {
  const isPast = query.at !== undefined || query.allVersions === true
  const versionId = idColumn<FoundHit>(({ hit }) => hit.memory.versionId)
  return [
    {
      head: 'PATH',
      cell: ({ hit }) => hit.memory.path,
      cut: 'beginning',
      weight: 1.5,
      paint: 'cyan',
    },
    { head: 'LINE', cell: ({ hit }) => String(hit.line ?? ''), align: 'right' },
    {
      head: 'TEXT',
      cell: ({ hit }) => (hit.line === undefined ? '' : hit.snippet),
      paint: (shown) => highlighted(ink, query, shown),
      cut: (text, width) => cutAround(text, width, matchesOf(query, text)[0]?.[0] ?? 0),
      weight: 2,
    },
    ...authorColumns(context, ({ version }: FoundHit) => version),
    ...(isPast ? [versionId] : []),
  ]
}

type Matches = ReturnType<typeof matchesIn>

/** What a regular expression has matched is known to its thread alone. */
function matchesOf(
  { query, regex, prefix = true, fuzzy = false }: SearchQuery,
  text: string,
): Matches {
  return regex === true ? [] : matchesIn(text, parseQuery(query, { prefix, fuzzy }))
}

function highlighted(ink: Ink, query: SearchQuery, snippet: string): string {
  const parts: string[] = []
  let at = 0
  for (const [start, end] of matchesOf(query, snippet)) {
    if (start < at) continue
    parts.push(ink.plain(snippet.slice(at, start)), ink.paint('bold', snippet.slice(start, end)))
    at = end
  }
  return parts.join('') + ink.plain(snippet.slice(at))
}

function foundJson(storeId: string, { hit, version }: FoundHit): unknown {
  return {
    ...hitObject(storeId, hit),
    created_by: actorJson(version.createdBy),
    session_id: version.session ?? null,
  }
}

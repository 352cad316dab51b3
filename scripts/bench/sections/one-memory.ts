// The history of one memory among many commits, beside the same history in SQLCipher and in git.

import type { MemoryStore } from 'gitlocket'
import { gitCommit } from '../contenders/git-commit.ts'
import { sqlCipher, type SqliteNotes } from '../contenders/sqlite.ts'
import { reasonOf } from '../lane.ts'
import { fillGit, fillSqlite } from '../long-history.ts'
import { run } from '../machine.ts'
import { atMost, type Section, type Table } from '../report.ts'
import { timed } from '../rounds.ts'
import type { OriginalSite, Site } from '../site.ts'
import { milliseconds, ratio, summarize, type Summary } from '../statistics.ts'
import type { TaskAnswer } from '../task-child.ts'
import { memoryBound } from '../task.ts'
import { cells } from './views.ts'

const warmMsMax = 50
const firstMsMax = 100
const questions = 200
const gitQuestions = 10

interface Question {
  readonly path: string
  readonly memoryId: string
  readonly firstQuestion: OriginalSite['firstQuestion']
}

export async function measureOneMemory(
  site: Site,
  store: MemoryStore,
  { path, memoryId, firstQuestion }: Question,
): Promise<Section> {
  const { size } = site
  site.context.log(`history of one memory ${size}`)
  const { data: versions } = await store.history.versions({ memoryId })
  const { fromGit, fromCache } = firstQuestion
  for (const { done } of [fromGit, fromCache]) checkCount(done, versions.length)
  const ours = await ask(questions, () => store.history.versions({ memoryId }))
  const peers = [
    await askPeer('SQLCipher', sqlCipher, () => askSqlite(site, path, versions.length)),
    await askPeer('git log', gitCommit.name, () => askGit(site, path, versions.length)),
  ]
  const rows = [
    ['gitlocket', ...cells(ours, ours)],
    ['gitlocket, first, from its cache', ...firstCells(fromCache, ours)],
    ['gitlocket, first, from git alone', ...firstCells(fromGit, ours)],
    ...peers.map((peer) => peerRow(peer, ours)),
  ]
  const bars = [
    { label: 'gitlocket', value: ours.median, ours: true },
    { label: 'first, from its cache', value: fromCache.work, ours: true },
    ...peers.map(({ name, summary }) => ({ label: name, value: summary?.median ?? Number.NaN })),
  ]
  const title = 'History of one memory, median, ms'
  const plot = { name: 'history', title, bars, format: milliseconds }
  const { length } = versions
  return {
    gains: peers.map(({ gain, summary }) => {
      const times = (summary?.median ?? Number.NaN) / ours.median
      return { peer: gain, subject: 'the history of a memory', times }
    }),
    bounds: [
      atMost(`history of one memory ${size}, warm`, ours.median, warmMsMax, milliseconds),
      atMost(`first question of history ${size}`, fromCache.work, firstMsMax, milliseconds),
      memoryBound('history of one memory, from its cache', fromCache.rssMax),
      memoryBound('history of one memory, from git alone', fromGit.rssMax),
    ],
    tables: [{ ...historyTable(size, length, rows), plot }],
  }
}

function firstCells({ work }: TaskAnswer, ours: Summary): readonly string[] {
  return [ratio(work / ours.median), milliseconds(work), '', '1']
}

function historyTable(size: string, count: number, rows: readonly (readonly string[])[]): Table {
  return {
    title: `History of one memory ${size}`,
    columns: ['', '× gitlocket', 'median', 'p99', 'n'],
    rows,
    notes: [
      `A memory with ${count} versions. Warm: the store is open and was asked before. The first ` +
        'question of a process loads the whole history; without a cache it reads every commit. ' +
        'SQLCipher answers from an index on the path, git log by walking the history.',
    ],
  }
}

async function ask(count: number, question: () => unknown): Promise<Summary> {
  const samples: number[] = []
  for (let done = 0; done < count; done += 1) samples.push(await timed(question))
  return summarize(samples)
}

interface PeerAnswer {
  readonly name: string
  /** The alternative that a user of this has. */
  readonly gain: string
  readonly summary?: Summary
  /** Why there is none. */
  readonly reason?: string
}

async function askPeer(
  name: string,
  gain: string,
  measure: () => Promise<Summary>,
): Promise<PeerAnswer> {
  try {
    return { name, gain, summary: await measure() }
  } catch (error) {
    return { name, gain, reason: reasonOf(error) }
  }
}

function peerRow({ name, summary, reason }: PeerAnswer, ours: Summary): readonly string[] {
  return summary === undefined ? [name, reason ?? '', '', '', '0'] : [name, ...cells(summary, ours)]
}

async function askSqlite({ context }: Site, path: string, expected: number): Promise<Summary> {
  const directory = context.directory('history/sqlite')
  const database: SqliteNotes = fillSqlite(context.sqlite(), directory, context.scale)
  checkCount(database.history(path).length, expected)
  const summary = await ask(questions, () => database.history(path))
  database.close()
  return summary
}

async function askGit({ context }: Site, path: string, expected: number): Promise<Summary> {
  const cwd = context.directory('history/git')
  fillGit(cwd, context.scale)
  const log = () => run('git', ['log', '--format=%H', '--', path], { cwd }).toString()
  checkCount(log().trim().split('\n').length, expected)
  return ask(gitQuestions, log)
}

/** All were given the same history: another number of versions would be another measurement. */
function checkCount(found: number, expected: number): void {
  if (found !== expected) throw new Error(`Found ${found} versions instead of ${expected}`)
}

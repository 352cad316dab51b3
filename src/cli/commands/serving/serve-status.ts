// `serve status`: what a running server has noted about itself in the state directory, every few
// seconds: its address and counts, no names. The note may be old or of a process that was killed,
// so that its process and age are looked at. Must not contact the server, or open its stores.

import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { toHex, utf8 } from '../../../bytes.ts'
import { hash256 } from '../../../crypto/digest.ts'
import type { Operator } from '../../../hosting/host.ts'
import { visible } from '../../../text/visible.ts'
import { type Answer, type Command, type Context, type Input } from '../../call/command.ts'
import { findObject, type JsonObject } from '../../machine/json.ts'
import { directoriesOf, directoryOptions, type ServerDirectories } from '../../store/server.ts'
import { findNow, timeAgo } from '../../text/times.ts'
import { wire } from '../../text/wire.ts'
import { numberText, sizeText } from '../../text/words.ts'

export const commands: readonly Command[] = [
  {
    name: 'serve status',
    summary: 'Show whether a server runs here, its stores, memory and last sync',
    options: directoryOptions,
    notes: ['Of --data, or the default. The exit code is 3 if no server runs.'],
    run: serveStatus,
  },
]

const NOT_RUNNING = 3
const NOTED_EVERY_MS = 5000
/** A process that has noted nothing for so long hangs, or has another one's number. */
const FRESH_MS = 60_000

/** Notes the state of this process now and then. Resolves, once it is noted, to what ends it. */
export async function noteRunning(
  { clock }: Pick<Context, 'clock'>,
  directories: ServerDirectories,
  { operator, url }: { readonly operator: Operator; readonly url: string },
): Promise<() => void> {
  const file = noteOf(directories)
  const startedAt = clock()
  let isOver = false
  const note = async (): Promise<void> => {
    const stores = await operator.countStores().catch(() => undefined)
    if (stores === undefined || isOver) return
    const state = {
      pid: process.pid,
      url,
      startedAt,
      notedAt: clock(),
      stores,
      openStores: operator.openStores(),
      memoryBytes: process.memoryUsage.rss(),
      lastSyncAt: operator.lastSync() ?? null,
    }
    attemptQuietly(() => {
      writeFileSync(`${file}.new`, JSON.stringify(state), { mode: 0o600 })
      renameSync(`${file}.new`, file)
    })
  }
  await note()
  const timer = setInterval(() => void note(), NOTED_EVERY_MS)
  timer.unref()
  return () => {
    isOver = true
    clearInterval(timer)
    attemptQuietly(() => rmSync(file, { force: true }))
  }
}

/** A server runs without the note, too. */
function attemptQuietly(work: () => void): void {
  try {
    work()
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error
  }
}

/** Named by a hash, since several servers may share a state directory. */
function noteOf({ dataDirectory, stateDirectory }: ServerDirectories): string {
  return join(stateDirectory, `serving-${toHex(hash256(utf8(dataDirectory))).slice(0, 32)}`)
}

function serveStatus(context: Context, input: Input): Answer {
  const directories = directoriesOf(context, input)
  const { dataDirectory } = directories
  const found = findNote(directories, context.clock())
  if (found === undefined) {
    return {
      text: `Server     not running\nData       ${dataDirectory}\n`,
      json: { running: false, ...wire({ dataDirectory }) },
      exitCode: NOT_RUNNING,
    }
  }
  const now = findNow(context) ?? context.clock()
  const { url, pid, startedAt, stores, openStores, memoryBytes, lastSyncAt } = found
  const sync = lastSyncAt === undefined ? 'none since it started' : timeAgo(lastSyncAt, now)
  return {
    text: [
      `Server     ${visible(url)}, started ${timeAgo(startedAt, now)}, process ${pid}`,
      `Data       ${dataDirectory}`,
      `Stores     ${numberText(stores)}, ${numberText(openStores)} open`,
      `Memory     ${sizeText(memoryBytes)}`,
      `Last sync  ${sync}`,
      '',
    ].join('\n'),
    json: { running: true, ...wire({ dataDirectory, ...found, lastSyncAt }) },
  }
}

interface RunningNote {
  readonly url: string
  readonly pid: number
  readonly startedAt: number
  readonly stores: number
  readonly openStores: number
  readonly memoryBytes: number
  readonly lastSyncAt: number | undefined
}

/** Undefined without a server that runs. */
function findNote(directories: ServerDirectories, now: number): RunningNote | undefined {
  let note: JsonObject | undefined
  attemptQuietly(() => {
    note = findObject(readFileSync(noteOf(directories), 'utf8'))
  })
  if (note === undefined) return undefined
  const number = (name: string): number => Number(note?.[name] ?? 0)
  const { url } = note
  const pid = number('pid')
  if (now - number('notedAt') > FRESH_MS || !isRunning(pid)) return undefined
  if (typeof url !== 'string') return undefined
  const lastSync = number('lastSyncAt')
  return {
    url,
    pid,
    startedAt: number('startedAt'),
    stores: number('stores'),
    openStores: number('openStores'),
    memoryBytes: number('memoryBytes'),
    lastSyncAt: lastSync > 0 ? lastSync : undefined,
  }
}

function isRunning(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false
  try {
    return process.kill(pid, 0)
  } catch (error) {
    // Another user's process.
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

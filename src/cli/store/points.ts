// Parses points of the history: a time, a version or a commit.

import { StoreError, assert, hasCode } from '../../errors.ts'
import { timestamp } from '../../operations/wire.ts'
import type { Point } from '../../store/history/points.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import type { Context, Input } from '../call/command.ts'
import { withProgress } from '../terminal/progress.ts'
import { findTime } from '../text/times.ts'
import { resolveVersion } from './named.ts'

export async function pointOf(
  context: Context,
  input: Input,
  option: string,
  store: MemoryStore,
): Promise<Point | undefined> {
  const text = input.text(option)
  checkStamped(input)
  if (text === undefined) return undefined
  const point = await parsePoint(context, store, option, text)
  if (!input.flag('stamped')) return point
  if ('time' in point) return { stampedTime: point.time }
  throw new StoreError('invalid_input', `With --stamped, --${option} must be a time`)
}

function checkStamped(input: Input): void {
  const isGiven = ['at', 'to', 'from'].some((name) => input.text(name) !== undefined)
  if (isGiven || !input.flag('stamped')) return
  throw new StoreError('invalid_input', '--stamped needs an option that names a time')
}

/** The point of a required option, whose presence the caller has checked. */
export async function getPoint(
  context: Context,
  input: Input,
  option: string,
  store: MemoryStore,
): Promise<Point> {
  const point = await pointOf(context, input, option, store)
  assert(point !== undefined, 'a required option was not checked')
  return point
}

/** The history is decrypted when it is first asked for; a long one takes a moment. */
export async function loadHistory(context: Context, store: MemoryStore): Promise<void> {
  await withProgress(context, 'Reading the history', (options) =>
    store.history.versions({ limit: 1 }, options),
  )
}

/** Throws `invalid_input`, or `not_found` for an unknown version. */
async function parsePoint(
  context: Context,
  store: MemoryStore,
  option: string,
  text: string,
): Promise<Point> {
  const time = findTime(text, context.clock())
  if (time !== undefined) return { time }
  if (text.startsWith('memver_') || /^[0-9a-z]{4,26}$/.test(text)) {
    await loadHistory(context, store)
    const versionId = await resolveVersion(store, text).catch((error: unknown) => {
      if (hasCode(error, 'not_found') && !text.startsWith('memver_')) return undefined
      throw error
    })
    if (versionId !== undefined) return { versionId }
  }
  if (/^[0-9a-f]{7,40}$/.test(text)) return { commit: text }
  throw new StoreError(
    'invalid_input',
    `--${option} must be a time such as 7d, 2026-01-31 or 2026-01-31T12:00:00Z, a version such ` +
      'as 3k9f0z2c, or a commit',
  )
}

export function pointJson(point: Point): Readonly<Record<string, string>> {
  if ('time' in point) return { time: timestamp(point.time) }
  if ('stampedTime' in point) return { stamped_time: timestamp(point.stampedTime) }
  return 'versionId' in point ? { memory_version_id: point.versionId } : { commit: point.commit }
}

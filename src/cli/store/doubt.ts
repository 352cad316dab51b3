// Tells users that clocks disagree about a time that they gave, whose record it is, and how to ask
// for the same without that time. The store finds out (store/history/doubtful-times.ts).

import { type DoubtfulRecord, type DoubtfulTimes, hasCode } from '../../errors.ts'
import { doubtSentence } from '../../store/history/doubtful-times.ts'
import type { Point } from '../../store/history/points.ts'
import { formatTime } from '../../store/history/record-times.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import { CommandError, type Context, type Input } from '../call/command.ts'
import { doubtFacts } from '../terminal/doubt.ts'
import { deviceText } from '../text/device-text.ts'
import { findTime } from '../text/times.ts'

/** Adds a line for the user about a view. Returns the member for JSON. */
export async function doubtAt(
  context: Context,
  store: MemoryStore,
  point: Point | undefined,
): Promise<{ readonly doubtful?: object }> {
  const doubtful = point && (await store.history.doubtful(point))
  const when = point !== undefined && 'time' in point ? formatTime(point.time) : undefined
  await noteDoubt(context, store, doubtful, when)
  return doubtFacts(doubtful)
}

export async function noteDoubt(
  { notices }: Pick<Context, 'notices'>,
  store: MemoryStore,
  doubtful: DoubtfulTimes | undefined,
  when?: string,
): Promise<void> {
  if (doubtful === undefined) return
  const way = doubtful.stampedLater > 0 ? '--stamped takes the times as stamped' : undefined
  const line = await doubtLine(store, doubtful, way, when)
  if (!notices.includes(line)) notices.push(line)
}

export async function doubtLine(
  store: MemoryStore,
  doubtful: DoubtfulTimes,
  way: string | undefined,
  when?: string,
): Promise<string> {
  const names = await store.devices.names()
  const nameOf = ({ deviceId, byGrant }: DoubtfulRecord): string =>
    byGrant ? `the grant ${deviceId}` : `the device ${deviceText(deviceId, names.get(deviceId))}`
  const sentence = doubtSentence(doubtful, nameOf, when)
  return way === undefined ? sentence : `${sentence}. ${way}`
}

/** The commands that a user may have meant instead. `verb` has its arguments. */
export function waysOut(
  { clock }: Pick<Context, 'clock'>,
  input: Input,
  verb: string,
  { stampedLater, newest, causes }: DoubtfulTimes,
): string {
  const ways: string[] = []
  const time = findTime(input.text('to') ?? '', clock())
  if (time !== undefined && stampedLater > 0) {
    const path = input.text('path')
    const below = path === undefined ? '' : ` --path ${shellWord(path)}`
    const command = `gitlocket ${verb} --to ${formatTime(time)}${below} --stamped`
    ways.push(`\`${command}\` takes the times as stamped`)
  }
  if (input.text('to') === undefined) ways.push('Without --since and --until, all is undone')
  // The author of such a record is suspected first; other authors may be innocent.
  const liars = new Set(causes.map(({ deviceId }) => deviceId))
  const suspects = [...newest.filter(({ deviceId }) => liars.has(deviceId)), ...causes, ...newest]
  const session = suspects.find((one) => one.session !== undefined)?.session
  const grant = suspects.find(({ byGrant }) => byGrant)?.deviceId
  const undone = [
    ...(session === undefined ? [] : [`\`gitlocket undo --session ${session}\``]),
    ...(grant === undefined ? [] : [`\`gitlocket undo --grant ${grant}\``]),
  ]
  if (undone.length > 0) ways.push(`${undone.join(' or ')} takes those writes back`)
  if (ways.length === 0) ways.push('`gitlocket log` shows the versions, one of which --to takes')
  return ways.join('; ')
}

/** Throws the error, and if it is about clocks, with their names and the ways out. */
export async function refusedByDoubt(
  store: MemoryStore,
  error: unknown,
  waysOf: (doubtful: DoubtfulTimes) => string,
): Promise<never> {
  const { doubtful } = hasCode(error, 'time_doubtful') ? error.details : {}
  if (!hasCode(error, 'time_doubtful') || doubtful === undefined) throw error
  const message = `${await doubtLine(store, doubtful, undefined)}: nothing would change`
  const { details } = error
  throw new CommandError('time_doubtful', message, waysOf(doubtful), { cause: error, details })
}

/** A word as a shell reads it. */
export function shellWord(word: string): string {
  return /^[\w./@:-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}

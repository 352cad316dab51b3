// Parses and formats times for users: `--since 7d`, `yesterday` or a date; `3m ago`.

import { findDuration, unitMs } from '../../duration.ts'
import { StoreError } from '../../errors.ts'
import { timestamp } from '../../operations/wire.ts'
import type { ClockLeap } from '../../store/session/writer-clock.ts'
import { type Context, type Input, usageError } from '../call/command.ts'

/**
 * Milliseconds since 1970 of a duration before `now` (`90m`, `36h`, `7d`, `2w`), of a day by its
 * name (its beginning, local), of a date (its beginning, UTC) or of an RFC 3339 time. Throws
 * `invalid_input`.
 */
export function parseTime(option: string, text: string, now: number): number {
  const time = findTime(text, now)
  if (time !== undefined) return time
  throw new StoreError(
    'invalid_input',
    `--${option} must be a duration such as 36h or 7d, a day such as yesterday or monday, a date ` +
      'such as 2026-01-31, or a time such as 2026-01-31T12:00:00Z',
  )
}

/** The times of --since and --until. */
export function spanOf(
  { clock }: Context,
  input: Input,
): { readonly since: number | undefined; readonly until: number | undefined } {
  const time = (option: string): number | undefined =>
    input.parsed(option, (text) => parseTime(option, text, clock()))
  return { since: time('since'), until: time('until') }
}

/** Like `parseTime`, but undefined for any other text. */
export function findTime(text: string, now: number): number | undefined {
  const duration = findDuration(text)
  if (duration !== undefined) return now - duration
  const days = daysSince(text.toLowerCase(), now)
  if (days !== undefined) return startOfDay(now, days)
  const isTime =
    /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d))?$/i.test(text)
  const time = isTime ? Date.parse(text.replace(' ', 'T')) : Number.NaN
  return Number.isNaN(time) ? undefined : time
}

/** Milliseconds of `90m`, `36h`, `7d`, `2w`. Throws `invalid_input`. */
export function parseDuration(option: string, text: string): number {
  const duration = findDuration(text)
  if (duration !== undefined) return duration
  throw new StoreError('invalid_input', `--${option} must be a duration such as 36h, 90d or 12w`)
}

const SYNC_MS_MIN = 1000
/** A timer with more than 24 days would run out at once. */
const SYNC_MS_MAX = 7 * 24 * 3_600_000

/** Milliseconds of `--sync 5m`; undefined without it. Throws `invalid_input`. */
export function syncIntervalOf(input: Input, command: string): number | undefined {
  const text = input.text('sync')
  if (text === undefined) return undefined
  const everyMs = parseDuration('sync', text)
  if (everyMs >= SYNC_MS_MIN && everyMs <= SYNC_MS_MAX) return everyMs
  throw usageError('--sync must be a duration such as 5m, from 1s to 7d', command)
}

/** How often the holder of a grant asks for the changes of others, without `--sync`. */
const GRANTED_MS = 60_000

export function grantedIntervalOf({ environment }: Context): number | undefined {
  return environment.grant && GRANTED_MS
}

const weekdays = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday']

/** How many days ago a day was that has this name, 0 to 6 for a weekday. */
function daysSince(name: string, now: number): number | undefined {
  if (name === 'today') return 0
  if (name === 'yesterday') return 1
  const weekday = weekdays.indexOf(name)
  return weekday === -1 ? undefined : (new Date(now).getDay() - weekday + 7) % 7
}

function startOfDay(now: number, daysAgo: number): number {
  const day = new Date(now)
  day.setDate(day.getDate() - daysAgo)
  return day.setHours(0, 0, 0, 0)
}

/** Older times are shown as dates. */
const AGE_MAX_MS = 30 * 86_400_000

/** `3m`, `2h`, `2d`, and the local date of an older time. */
export function ageText(time: number, now: number): string {
  const age = now - time
  if (age < 1000) return 'now'
  return age < AGE_MAX_MS ? spanText(age) : localTime(time).slice(0, 10)
}

/** `3m ago`, `just now`, or `on 2026-01-31`: the same within a sentence. */
export function timeAgo(time: number, now: number): string {
  const text = ageText(time, now)
  if (text === 'now') return 'just now'
  return text.includes('-') ? `on ${text}` : `${text} ago`
}

/** What decides how times are written. */
export type TimePlace = Pick<Context, 'clock' | 'exactTimes'>

/** The time that shown times are relative to; undefined if they are exact. */
export function findNow({ exactTimes, clock }: TimePlace): number | undefined {
  return exactTimes ? undefined : clock()
}

export type TimeFormat = (time: number) => string

/** Writes an age for people; the exact time in a pipe and with --utc. */
export function ageFormat(context: TimePlace): TimeFormat {
  const now = findNow(context)
  return now === undefined ? timestamp : (time) => ageText(time, now)
}

/** The same within a sentence. */
export function agoFormat(context: Context): TimeFormat {
  const now = findNow(context)
  return now === undefined ? (time) => `on ${timestamp(time)}` : (time) => timeAgo(time, now)
}

/** `in 7h` for a time to come, else an age; the exact time in a pipe and with --utc. */
export function untilText(context: TimePlace, time: number): string {
  const now = findNow(context)
  if (now === undefined) return timestamp(time)
  return time > now ? `in ${spanText(time - now)}` : ageText(time, now)
}

/** Writes an exact time: local on a terminal, else in UTC, which reads the same everywhere. */
export function timeFormat({ exactTimes }: Pick<Context, 'exactTimes'>): TimeFormat {
  return exactTimes ? timestamp : localTime
}

/** `2026-01-31 13:00:00+01:00`, which every option that takes a time takes. */
export function localTime(time: number): string {
  const minutes = -new Date(time).getTimezoneOffset()
  const [day, clock = ''] = new Date(time + minutes * 60_000).toISOString().split('T')
  const hours = String(Math.trunc(Math.abs(minutes) / 60)).padStart(2, '0')
  const rest = String(Math.abs(minutes) % 60).padStart(2, '0')
  return `${day} ${clock.slice(0, 8)}${minutes < 0 ? '-' : '+'}${hours}:${rest}`
}

/** The warning about a clock that is far from the newest record. */
export function clockNotice(context: Context, leap: ClockLeap): string {
  const which = 'one of the two is, or was, set wrong'
  return `The clock of this machine is ${clockText(leap, timeFormat(context))}: ${which}`
}

export function clockText({ clock, newest }: ClockLeap, format: TimeFormat = timestamp): string {
  const [span, where] = clock < newest ? [newest - clock, 'behind'] : [clock - newest, 'ahead of']
  return `${spanText(span)} ${where} the newest record (${format(newest)})`
}

/** `3h`, in the largest unit that is at least one; a day is the longest. */
function spanText(elapsed: number): string {
  const unit = ['d', 'h', 'm'].find((name) => elapsed >= (unitMs[name] ?? 0)) ?? 's'
  return `${Math.floor(elapsed / (unitMs[unit] ?? 1))}${unit}`
}

// Parses the options of `redact` into a selection of versions. Messages never show a pattern.

import { StoreError } from '../../errors.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import type { RedactionSelection } from '../../store/redaction/redaction-plan.ts'
import { type Context, type Input, usageError } from '../call/command.ts'
import { readPlainFile, readPlainInput } from '../machine/files.ts'
import { resolveVersion } from '../store/named.ts'
import { checkCanOpen } from '../store/open-store.ts'
import { askSecret, canAsk } from '../terminal/prompt.ts'
import { storePath } from '../text/store-path.ts'
import { parseTime } from '../text/times.ts'
import { getMemory } from './read.ts'

const conditions = ['memory', 'path', 'actor', 'session', 'matching', 'matching-file', 'before']

/**
 * Checks the options before the store is opened. With `asks`, the text to erase is asked for where
 * no version and no condition is given. Throws `invalid_input`.
 */
export function checkSelects(input: Input, asks = false): void {
  if (selectsNothing(input)) {
    if (asks) return
    throw usageError(
      'redact needs versions, or a condition such as --memory, --session or --matching-file; on ' +
        'a terminal it asks for the text',
      'redact',
    )
  }
  if (readsInput(input) || patternOf(input) !== undefined) return
  const extra = ['literal', 'ignore-case'].find((name) => input.flag(name))
  if (extra === undefined) return
  throw usageError(`--${extra} needs --matching or --matching-file`, 'redact')
}

function selectsNothing(input: Input): boolean {
  const given = conditions.some((name) => input.text(name) !== undefined)
  return !given && input.findArgument(0) === undefined
}

function readsInput(input: Input): boolean {
  return input.text('matching-file') === '-' && input.text('matching') === undefined
}

const TEXT = 'Text to erase (hidden)'
const PATTERN = 'Pattern to erase (hidden)'

/** The pattern of the options, or of a text that is asked for without echo. */
export async function readPattern(context: Context, input: Input): Promise<RegExp | undefined> {
  const isRead = readsInput(input)
  if (!isRead && !selectsNothing(input)) return patternOf(input)
  if (!canAsk(context)) return patternOf(input, patternIn(await readPlainInput()))
  await checkCanOpen(context)
  const typed = (await askSecret(context, isRead ? PATTERN : TEXT, '')).trim()
  if (typed === '') throw new StoreError('cancelled', 'Cancelled')
  // With the option it is a pattern, however it is read.
  return isRead ? patternOf(input, typed) : compile('matching', literal(typed), flagsOf(input))
}

/** A version must meet all conditions that are given. */
export async function selectionIn(
  context: Context,
  input: Input,
  store: MemoryStore,
  pattern: RegExp | undefined,
): Promise<RedactionSelection> {
  const typed = input.arguments(0)
  const versionIds: string[] = []
  for (const version of typed) versionIds.push(await resolveVersion(store, version))
  const [memory, path, before] = ['memory', 'path', 'before'].map((name) => input.text(name))
  return {
    versionIds: typed.length === 0 ? undefined : versionIds,
    memoryId: memory === undefined ? undefined : await memoryIdOf(store, memory),
    path: path === undefined ? undefined : storePath(path),
    actorId: input.text('actor'),
    session: input.text('session'),
    matching: pattern,
    before: before === undefined ? undefined : parseTime('before', before, context.clock()),
    withCopies: input.flag('with-copies'),
  }
}

/** Accepts an id, or the current path of the memory. */
async function memoryIdOf(store: MemoryStore, typed: string): Promise<string> {
  if (typed.startsWith('mem_')) return typed
  return (await getMemory(store, storePath(typed))).memoryId
}

/** Undefined if none is given; `read` is the line of standard input. Throws `invalid_input`. */
export function patternOf(input: Input, read?: string): RegExp | undefined {
  const file = input.text('matching-file')
  const argument = input.text('matching')
  if (file !== undefined && argument !== undefined) {
    throw usageError('Give --matching or --matching-file, not both', 'redact')
  }
  const source = file === undefined ? argument : (read ?? lineOf(file))
  if (source === undefined) return undefined
  const option = file === undefined ? 'matching' : 'matching-file'
  if (source === '') throw usageError(`--${option} must not be empty`, 'redact')
  return compile(option, input.flag('literal') ? literal(source) : source, flagsOf(input))
}

function flagsOf(input: Input): string {
  return input.flag('ignore-case') ? 'imu' : 'mu'
}

function lineOf(file: string): string {
  return patternIn(readPlainFile('the pattern', file))
}

/**
 * The pattern in the text of a file. An ambiguous one is refused: a pattern that finds less than
 * its user thinks leaves a secret behind. Throws `invalid_input`.
 */
function patternIn(text: string): string {
  const [line = '', ...more] = text.split(/\r\n?|\n/).filter((one) => one.trim() !== '')
  if (more.length > 0) {
    throw usageError(
      '--matching-file holds several lines: give one pattern in one line, and redact once for each',
      'redact',
    )
  }
  if (line.includes('\0')) {
    throw usageError('--matching-file holds NUL bytes: save it as UTF-8 text', 'redact')
  }
  if (line !== line.trim()) {
    throw usageError(
      '--matching-file begins or ends with white space: remove it, or write it as [ ] in a ' +
        'regular expression',
      'redact',
    )
  }
  return line
}

/** The engine's own error quotes the pattern, which may be the secret. */
function compile(option: string, source: string, flags: string): RegExp {
  try {
    const pattern = new RegExp(source, flags)
    if (!pattern.test('')) return pattern
  } catch {
    throw usageError(
      `--${option} is not a regular expression; --literal takes it as plain text`,
      'redact',
    )
  }
  throw usageError(`--${option} matches the empty string, so that it matches any text`, 'redact')
}

/** One text in each of its forms: a letter and its accent may be one code point or two. */
function literal(text: string): string {
  const forms = new Set([text, text.normalize('NFC'), text.normalize('NFD')])
  const sources = [...forms].map(escaped)
  return sources.length === 1 ? sources.join('') : `(?:${sources.join('|')})`
}

function escaped(text: string): string {
  return text.replaceAll(/[$()*+./?[\\\]^{|}]/g, String.raw`\$&`)
}

// Parses the options of `redact` into a selection of versions. Messages never show a pattern.

import type { MemoryStore } from '../store/memory-store.ts'
import type { RedactionSelection } from '../store/redaction/redaction-plan.ts'
import { usageError } from './command-error.ts'
import type { Input } from './command.ts'
import { getMemory } from './commands/read.ts'
import type { Context } from './context.ts'
import { readTextFile } from './files.ts'
import { storePath } from './store-path.ts'
import { parseTime } from './times.ts'
import { resolveVersion } from './versions-text.ts'

const conditions = ['memory', 'path', 'actor', 'session', 'matching', 'matching-file', 'before']

/** Checks the options before the store is opened. Throws `invalid_input`. */
export function checkSelects(input: Input): void {
  const given = conditions.filter((name) => input.text(name) !== undefined)
  if (given.length === 0 && input.findArgument(0) === undefined) {
    throw usageError(
      'redact needs versions, or a condition such as --memory, --session or --matching-file',
      'redact',
    )
  }
  const pattern = patternOf(input)
  if (pattern !== undefined) return
  const extra = ['literal', 'ignore-case'].find((name) => input.flag(name))
  if (extra === undefined) return
  throw usageError(`--${extra} needs --matching or --matching-file`, 'redact')
}

/** A version must meet all conditions that are given. */
export async function selectionIn(
  context: Context,
  input: Input,
  store: MemoryStore,
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
    matching: patternOf(input),
    before: before === undefined ? undefined : parseTime('before', before, context.clock()),
    withCopies: input.flag('with-copies'),
  }
}

/** Accepts an id, or the current path of the memory. */
async function memoryIdOf(store: MemoryStore, typed: string): Promise<string> {
  if (typed.startsWith('mem_')) return typed
  return (await getMemory(store, storePath(typed))).memoryId
}

/** Undefined if none is given. Throws `invalid_input`. */
export function patternOf(input: Input): RegExp | undefined {
  const file = input.text('matching-file')
  const argument = input.text('matching')
  if (file !== undefined && argument !== undefined) {
    throw usageError('Give --matching or --matching-file, not both', 'redact')
  }
  const source = file === undefined ? argument : firstLine(readTextFile('the pattern', file))
  if (source === undefined) return undefined
  const option = file === undefined ? 'matching' : 'matching-file'
  if (source === '') throw usageError(`--${option} must not be empty`, 'redact')
  const flags = input.flag('ignore-case') ? 'imu' : 'mu'
  return compile(option, input.flag('literal') ? escaped(source) : source, flags)
}

function firstLine(text: string): string {
  return text.split(/\r?\n/, 1)[0] ?? ''
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

function escaped(text: string): string {
  return text.replaceAll(/[$()*+./?[\\\]^{|}]/g, String.raw`\$&`)
}

// The six commands of the memory tool (`memory_20250818`): the operation behind each one, and its
// texts for success and for the failures that it words itself (docs/MEMORY-TOOL.md). Must not
// decide anything that an operation decides.

import * as operations from '../api/operations.ts'
import type { Effect, Operation, OperationContext } from '../api/operations.ts'
import { parseInput } from '../api/schemas.ts'
import { StoreError } from '../errors.ts'
import { Refusal } from './refusal.ts'
import { renderSnippet, renderView } from './render.ts'
import { parseNewToolPath, parseToolPath, toolPathOf } from './tool-path.ts'

export type CommandName = 'view' | 'create' | 'str_replace' | 'insert' | 'delete' | 'rename'

export interface Command {
  readonly effect: Effect
  /** The answer. Throws a Refusal, or an error that `refusalOf` turns into one. */
  readonly run: (context: OperationContext, input: unknown) => Promise<string>
}

const root = toolPathOf('/').shown

export const commands: Readonly<Record<CommandName, Command>> = {
  view: onPath(operations.view, {
    answer: renderView,
    refuse: (path, { code }) => {
      if (code === 'not_found') return new Refusal(invalidPathText(path), { prefix: '' })
      if (code !== 'too_many_lines') return undefined
      return new Refusal(`File ${path} exceeds maximum line limit of 999,999 lines.`, {
        prefix: '',
      })
    },
  }),

  create: onPath(operations.create, {
    parsePath: parseNewToolPath,
    answer: (path) => `File created successfully at: ${path}`,
    refuse: (path, error) => {
      if (error.code === 'content_too_large') return tooLarge(path, error)
      if (error.code !== 'path_conflict') return undefined
      const parent = findFileAbove(path, error)
      if (parent === undefined) return new Refusal(`File ${path} already exists`)
      return new Refusal(`Cannot create ${path}: ${parent} is a file, not a directory`)
    },
  }),

  str_replace: onPath(operations.strReplace, {
    answer: (_, { snippet }) =>
      'The memory file has been edited. Here is the snippet showing the change ' +
      `(with line numbers):\n${renderSnippet(snippet)}`,
    refuse: (path, error, { old_str }) => {
      if (error.code === 'not_found') return new Refusal(invalidPathText(path))
      if (error.code === 'content_too_large') return tooLarge(path, error)
      const problem = describeMismatch(path, error, old_str)
      return problem === undefined ? undefined : new Refusal(problem, { prefix: '' })
    },
  }),

  insert: onPath(operations.insert, {
    answer: (path) => `The file ${path} has been edited.`,
    refuse: (path, error) => {
      if (error.code === 'not_found') return new Refusal(missingText(path))
      if (error.code === 'content_too_large') return tooLarge(path, error)
      if (error.code !== 'invalid_line') return undefined
      const { actual, limit } = error.details
      return new Refusal(
        `Invalid \`insert_line\` parameter: ${actual}. ` +
          `It should be within the range of lines of the file: [0, ${limit}]`,
      )
    },
  }),

  delete: onPath(operations.remove, {
    answer: (path) => `Successfully deleted ${path}`,
    refuse: (path, { code }) => {
      if (code === 'not_found') return new Refusal(missingText(path))
      if (code !== 'invalid_path') return undefined
      return new Refusal(`Cannot delete the ${path} directory itself`)
    },
  }),

  rename: { effect: 'write', run: rename },
}

/** The texts of a command on one path. `refuse` leaves other failures to `refusalOf`. */
interface Texts<Input, Result> {
  /** By default `parseToolPath`. */
  readonly parsePath?: typeof parseToolPath
  readonly answer: (path: string, result: Result) => string
  readonly refuse: (path: string, error: StoreError, input: Input) => Refusal | undefined
}

function onPath<Input extends { readonly path: string }, Result>(
  operation: Operation<Input, Result>,
  texts: Texts<Input, Result>,
): Command {
  const { parsePath = parseToolPath } = texts
  const run = async (context: OperationContext, raw: unknown): Promise<string> => {
    const input = parseInput(operation.input, raw)
    const { store: path, shown } = parsePath('path', input.path)
    try {
      const result = await operations.runOperation(operation, context, { ...input, path })
      return texts.answer(shown, result)
    } catch (error) {
      throw refusalFor(error, (expected) => texts.refuse(shown, expected, input))
    }
  }
  return { effect: operation.effect, run }
}

async function rename(context: OperationContext, raw: unknown): Promise<string> {
  const input = parseInput(operations.rename.input, raw)
  const from = parseToolPath('old_path', input.old_path)
  const to = parseNewToolPath('new_path', input.new_path)
  try {
    const paths = { old_path: from.store, new_path: to.store }
    await operations.runOperation(operations.rename, context, paths)
    return `Successfully renamed ${from.shown} to ${to.shown}`
  } catch (error) {
    throw refusalFor(error, (expected) => refuseRename(from.shown, to.shown, expected))
  }
}

function refuseRename(from: string, to: string, error: StoreError): Refusal | undefined {
  const { code } = error
  const cannot = `Cannot rename ${from} to ${to}`
  if (code === 'not_found') return new Refusal(missingText(from))
  if (code === 'move_into_itself') {
    return new Refusal(`${cannot}: the destination lies below the source`)
  }
  if (code === 'invalid_path') {
    if (from === root) return new Refusal(`Cannot rename the ${root} directory itself`)
    return new Refusal(`${cannot}: the new path of a file below it is refused. ${error.message}`)
  }
  if (code !== 'path_conflict') return undefined
  const parent = findFileAbove(to, error)
  if (parent === undefined) return new Refusal(`The destination ${to} already exists`)
  return new Refusal(`${cannot}: ${parent} is a file, not a directory`)
}

/** The command's own refusal, or the error itself, which `refusalOf` words. */
function refusalFor(error: unknown, refuse: (error: StoreError) => Refusal | undefined): unknown {
  if (!(error instanceof StoreError)) return error
  if (error.code === 'sensitive_content') return sensitive(error)
  return refuse(error) ?? error
}

/** The message names kinds and lines and quotes nothing: the model knows what it wrote. */
function sensitive({ message, details }: StoreError): Refusal {
  const { path, parameter } = details
  // The reason comes from the program that runs the tool: the model cannot change it.
  if (parameter === 'reason') return new Refusal(`Cannot write. ${message}`)
  const what = path === undefined ? 'this path' : toolPathOf(path).shown
  return new Refusal(
    `Cannot write ${what}. ${message}. Leave it out; note where it is kept instead`,
  )
}

function missingText(path: string): string {
  return `The path ${path} does not exist`
}

function invalidPathText(path: string): string {
  return `${missingText(path)}. Please provide a valid path.`
}

function describeMismatch(path: string, error: StoreError, oldText: string): string | undefined {
  const start = 'No replacement was performed'
  if (error.code === 'no_match') {
    return `${start}, old_str \`${oldText}\` did not appear verbatim in ${path}.`
  }
  if (error.code !== 'multiple_matches') return undefined
  const lines = error.details.lines?.join(', ')
  return (
    `${start}. Multiple occurrences of old_str \`${oldText}\` in lines: ${lines}. ` +
    'Please ensure it is unique'
  )
}

function tooLarge(path: string, { details }: StoreError): Refusal {
  return new Refusal(
    `${path} would be ${details.actual} bytes; the limit is ${details.limit} bytes per memory. ` +
      'Split it into smaller files.',
  )
}

/** The file that is an ancestor of `path`, if that is the conflict. */
function findFileAbove(path: string, { details }: StoreError): string | undefined {
  if (details.path === undefined) return undefined
  const occupant = toolPathOf(details.path).shown
  return operations.isBelow(path, occupant) ? occupant : undefined
}

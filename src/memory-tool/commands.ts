// The six commands of the memory tool (`memory_20250818`): the operation behind each one, and its
// texts for success and for the failures that it words itself (docs/MEMORY-TOOL.md). Must not
// decide anything that an operation decides.

import { StoreError } from '../errors.ts'
import * as actions from '../operations/actions.ts'
import {
  checkAccess,
  type Effect,
  type OperationDefinition,
  type OperationContext,
  runOperation,
} from '../operations/operation.ts'
import * as operations from '../operations/operations.ts'
import { parseInput } from '../operations/schemas.ts'
import type { DirectoryListing } from '../store/snapshot/listing.ts'
import type { ToolMount } from './mount.ts'
import { Refusal } from './refusal.ts'
import { renderSnippet, renderView } from './render.ts'
import { toolRoot } from './tool-path.ts'
import type { Nowhere, Place, ToolSpace } from './tool-space.ts'

export type CommandName = 'view' | 'create' | 'str_replace' | 'insert' | 'delete' | 'rename'

export interface ToolCommand {
  readonly effect: Effect
  /** The answer. Throws a Refusal, or an error that `refusalOf` turns into one. */
  readonly run: (space: ToolSpace<ToolMount>, input: unknown) => Promise<string>
}

export const commands: Readonly<Record<CommandName, ToolCommand>> = {
  view: { effect: 'read', run: view },

  create: onPath(operations.create, {
    isNew: true,
    answer: (path) => `File created successfully at: ${path}`,
    atRoot: (path) => new Refusal(`File ${path} already exists`),
    nowhere: (path, space) => new Refusal(`Cannot create ${path}: ${noFilesText(space)}`),
    refuse: (call, error) => {
      const { shown } = call
      if (error.code === 'content_too_large') return tooLarge(shown, error)
      if (error.code !== 'path_conflict') return undefined
      const parent = findFileAbove(call, error)
      if (parent === undefined) return new Refusal(`File ${shown} already exists`)
      return new Refusal(`Cannot create ${shown}: ${parent} is a file, not a directory`)
    },
  }),

  str_replace: onPath(operations.strReplace, {
    answer: (_, { snippet }) =>
      'The memory file has been edited. Here is the snippet showing the change ' +
      `(with line numbers):\n${renderSnippet(snippet)}`,
    atRoot: (path) => new Refusal(invalidPathText(path)),
    nowhere: (path, space) => new Refusal(`${invalidPathText(path)} ${directoriesText(space)}`),
    refuse: ({ shown, input }, error) => {
      if (error.code === 'not_found') return new Refusal(invalidPathText(shown))
      if (error.code === 'content_too_large') return tooLarge(shown, error)
      const problem = describeMismatch(shown, error, input.old_str)
      return problem === undefined ? undefined : new Refusal(problem, { prefix: '' })
    },
  }),

  insert: onPath(operations.insert, {
    answer: (path) => `The file ${path} has been edited.`,
    atRoot: (path) => new Refusal(missingText(path)),
    nowhere: notMounted,
    refuse: ({ shown }, error) => {
      if (error.code === 'not_found') return new Refusal(missingText(shown))
      if (error.code === 'content_too_large') return tooLarge(shown, error)
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
    atRoot: (path) => new Refusal(`Cannot delete the ${path} directory itself`),
    nowhere: notMounted,
    refuse: ({ shown }, { code }) =>
      code === 'not_found' ? new Refusal(missingText(shown)) : undefined,
  }),

  rename: { effect: 'write', run: rename },
}

/** A command on one path. */
interface Call<Input> {
  readonly space: ToolSpace<ToolMount>
  readonly mount: ToolMount
  readonly shown: string
  readonly input: Input
}

/** The texts of a writing command on one path. `refuse` leaves other failures to `refusalOf`. */
interface CommandTexts<Input, Result> {
  /** Whether the path is a memory's new path. */
  readonly isNew?: boolean
  readonly answer: (path: string, result: Result) => string
  /** For `/memories` and the root of a store: directories, whatever is in a store. */
  readonly atRoot: (path: string) => Refusal
  /** For a path that is in no store. */
  readonly nowhere: (path: string, space: ToolSpace<ToolMount>) => Refusal
  readonly refuse: (call: Call<Input>, error: StoreError) => Refusal | undefined
}

function onPath<Input extends { readonly path: string }, Result>(
  operation: OperationDefinition<Input, Result, OperationContext>,
  texts: CommandTexts<Input, Result>,
): ToolCommand {
  const run = async (space: ToolSpace<ToolMount>, raw: unknown): Promise<string> => {
    const input = parseInput(operation.input, raw)
    const place = texts.isNew ? space.parseNew('path', input.path) : space.parse('path', input.path)
    const { mount, shown } = place
    checkMay(operation, space, mount)
    if (place.isRoot) throw texts.atRoot(shown)
    if (mount === undefined) throw texts.nowhere(shown, space)
    try {
      const { path } = place
      const result = await mount.use((context) =>
        runOperation(operation, context, { ...input, path }),
      )
      return texts.answer(shown, result)
    } catch (error) {
      throw refusalFor(error, { space, mount, shown, input }, texts.refuse)
    }
  }
  return { effect: operation.effect, run }
}

async function view(space: ToolSpace<ToolMount>, raw: unknown): Promise<string> {
  const input = parseInput(operations.view.input, raw)
  const place = space.parse('path', input.path)
  const { mount, shown } = place
  if (place.isRoot) {
    const listing = await (mount === undefined ? listMounts(space) : listMount(mount))
    return renderView(shown, actions.viewListing(listing, input))
  }
  if (mount === undefined) {
    throw new Refusal(`${invalidPathText(shown)} ${directoriesText(space)}`, { prefix: '' })
  }
  try {
    const { path } = place
    const result = await mount.use((context) =>
      runOperation(operations.view, context, { ...input, path }),
    )
    return renderView(shown, result)
  } catch (error) {
    throw refusalFor(error, { space, mount, shown, input }, refuseView)
  }
}

function refuseView({ shown }: Call<unknown>, { code }: StoreError): Refusal | undefined {
  if (code === 'not_found') return new Refusal(invalidPathText(shown), { prefix: '' })
  if (code !== 'too_many_lines') return undefined
  return new Refusal(`File ${shown} exceeds maximum line limit of 999,999 lines.`, { prefix: '' })
}

async function rename(space: ToolSpace<ToolMount>, raw: unknown): Promise<string> {
  const input = parseInput(operations.rename.input, raw)
  const from = space.parse('old_path', input.old_path)
  const to = space.parseNew('new_path', input.new_path)
  checkMay(operations.rename, space, from.mount)
  checkMay(operations.rename, space, to.mount)
  const { mount } = from
  if (from.isRoot) throw new Refusal(`Cannot rename the ${from.shown} directory itself`)
  if (mount === undefined) throw notMounted(from.shown, space)
  if (to.mount !== mount) throw leadsOut(space, from.shown, to)
  try {
    const paths = { old_path: from.path, new_path: to.path }
    await mount.use((context) => runOperation(operations.rename, context, paths))
    return `Successfully renamed ${from.shown} to ${to.shown}`
  } catch (error) {
    throw refusalFor(error, { space, mount, shown: to.shown, input: from }, refuseRename)
  }
}

/** The answer to a rename to a path that the store does not have. */
function leadsOut(
  space: ToolSpace<ToolMount>,
  from: string,
  to: Place<ToolMount> | Nowhere,
): Refusal {
  if (to.isRoot) return new Refusal(`The destination ${to.shown} already exists`)
  const cannot = `Cannot rename ${from} to ${to.shown}`
  if (to.mount === undefined) return new Refusal(`${cannot}: ${noFilesText(space)}`)
  return new Refusal(
    `${cannot}: they are in different stores, which have no commit in common. ` +
      `Create ${to.shown}, then delete ${from}`,
  )
}

/** `shown` is the destination. */
function refuseRename(call: Call<Place<ToolMount>>, error: StoreError): Refusal | undefined {
  const { code } = error
  const { shown: to, input: from } = call
  const cannot = `Cannot rename ${from.shown} to ${to}`
  if (code === 'not_found') return new Refusal(missingText(from.shown))
  if (code === 'move_into_itself') {
    return new Refusal(`${cannot}: the destination lies below the source`)
  }
  if (code === 'invalid_path') {
    return new Refusal(`${cannot}: the new path of a file below it is refused. ${error.message}`)
  }
  if (code !== 'path_conflict') return undefined
  const parent = findFileAbove(call, error)
  if (parent === undefined) return new Refusal(`The destination ${to} already exists`)
  return new Refusal(`${cannot}: ${parent} is a file, not a directory`)
}

/** Before anything of the store is looked at. Throws a Refusal. */
function checkMay(
  operation: { readonly name: string; readonly effect: Effect },
  space: ToolSpace<ToolMount>,
  mount: ToolMount | undefined,
): void {
  if (mount === undefined) return
  try {
    checkAccess(operation, mount.access)
  } catch (cause) {
    const where = space.directoryOf(mount)
    throw new Refusal(`The access to ${where} is read-only: ${operation.name} is refused`, {
      cause,
    })
  }
}

/** The command's own refusal, or the error itself, which `refusalOf` words. */
function refusalFor<Input>(
  error: unknown,
  call: Call<Input>,
  refuse: (call: Call<Input>, error: StoreError) => Refusal | undefined,
): unknown {
  if (!(error instanceof StoreError)) return error
  if (error.code === 'sensitive_content') return sensitive(call, error)
  return refuse(call, error) ?? error
}

/** The message names kinds and lines and quotes nothing: the model knows what it wrote. */
function sensitive({ space, mount }: Call<unknown>, { message, details }: StoreError): Refusal {
  const { path, parameter } = details
  // The reason comes from the program that runs the tool: the model cannot change it.
  if (parameter === 'reason') return new Refusal(`Cannot write. ${message}`)
  const what = path === undefined ? 'this path' : space.shown(mount, path)
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

/** The answer about a path that no store has. */
function notMounted(path: string, space: ToolSpace<ToolMount>): Refusal {
  return new Refusal(`${missingText(path)}. ${directoriesText(space)}`)
}

function noFilesText(space: ToolSpace<ToolMount>): string {
  return `${toolRoot} itself takes no files. ${directoriesText(space)}`
}

function directoriesText(space: ToolSpace<ToolMount>): string {
  return `The directories are ${space.mounts.map((mount) => space.directoryOf(mount)).join(', ')}`
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

/** The file that is an ancestor of the path, if that is the conflict. */
function findFileAbove(
  { space, mount, shown }: Call<unknown>,
  { details }: StoreError,
): string | undefined {
  if (details.path === undefined) return undefined
  const occupant = space.shown(mount, details.path)
  return actions.isBelow(shown, occupant) ? occupant : undefined
}

/** The root of a mount is a directory, whatever the store has there. */
async function listMount(
  { name, root, use }: ToolMount,
  depth: number = actions.listingDepth,
): Promise<DirectoryListing> {
  const found = await use(({ store }) => store.list(root, { depth }))
  if (found?.type === 'directory') return { ...found, name }
  return { type: 'directory', name, path: root, sizeBytes: 0, children: [] }
}

/** Each store as a directory, in the order of a listing. */
async function listMounts({ mounts }: ToolSpace<ToolMount>): Promise<DirectoryListing> {
  const listed = await Promise.all(
    mounts.map((mount) => listMount(mount, actions.listingDepth - 1)),
  )
  const children = listed.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  const sizeBytes = children.reduce((sum, child) => sum + child.sizeBytes, 0)
  return { type: 'directory', name: '', path: '/', sizeBytes, children }
}

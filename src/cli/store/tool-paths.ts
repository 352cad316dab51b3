// Paths that mean another one of the store. `/memories/foo.md`, as the memory tool writes it,
// copied from a transcript, means `/foo.md`, unless the store has such a path itself;
// `memories/foo.md`, without a slash in front, always means the store's own. A decomposed name
// (NFD), as macOS completes it, means the composed one, unless the store has it as it is.

import type { MemoryStore } from '../../store/memory-store.ts'
import { visible } from '../../text/visible.ts'
import {
  CommandError,
  type Command,
  type Context,
  type Input,
  usageError,
} from '../call/command.ts'
import { askLine, canAsk } from '../terminal/prompt.ts'
import { composedPath, findToolPath, storePath } from '../text/store-path.ts'

/** The call, in which every path is one of the store. */
export async function withStorePaths(
  context: Context,
  command: Command,
  input: Input,
): Promise<Input> {
  const typed = input.paths(command).filter((path) => {
    return findToolPath(path) !== undefined || path.normalize('NFC') !== path
  })
  if (typed.length === 0) return input
  // Loaded on demand: help and typing errors remain fast.
  const { withStore } = await import('./open-store.ts')
  const meant = await withStore(context, async (store) => {
    const found = new Map<string, string>()
    for (const path of typed) found.set(path, await meaningOf(context, store, path))
    return found
  })
  return input.withPaths(command, (path) => meant.get(path) ?? path)
}

async function meaningOf(context: Context, store: MemoryStore, typed: string): Promise<string> {
  const own = await spelt(store, typed)
  const toolPath = findToolPath(typed)
  if (toolPath === undefined) return own
  const tool = await spelt(store, toolPath)
  const [isOwn, isTool] = [await typeAt(store, own), await typeAt(store, tool)]
  if (isTool === undefined && isOwn !== undefined) return own
  const mayBeOwn = isOwn !== undefined || (await typeAt(store, '/memories')) === 'directory'
  if (!mayBeOwn || (isTool !== undefined && isOwn === undefined)) return tool
  if (!canAsk(context)) throw ambiguous(own, tool)
  return choose(context, own, tool)
}

/** Another program of a member may have given the path as it is typed (FORMAT §5.2). */
async function spelt(store: MemoryStore, typed: string): Promise<string> {
  const composed = composedPath(typed)
  const exact = storePath(typed)
  if (composed === exact) return exact
  return (await typeAt(store, exact)) === undefined ? composed : exact
}

async function typeAt(store: MemoryStore, path: string): Promise<'file' | 'directory' | undefined> {
  return (await store.list(path, { depth: 0 }))?.type
}

function ambiguous(own: string, tool: string): CommandError {
  return new CommandError(
    'invalid_input',
    `${own} may mean ${tool}, as the memory tool calls it, or the path ${own} of the store`,
    `Write ${own.slice(1)}, without the first slash, for the path of the store, and ${tool} for ` +
      'the other',
    { facts: { paths: [tool, own] } },
  )
}

async function choose(context: Context, own: string, tool: string): Promise<string> {
  process.stderr.write(
    visible(
      `${own} may mean\n  1  ${tool}, as the memory tool calls it\n` +
        `  2  ${own}, the path of the store\n`,
    ),
  )
  const answer = await askLine(context, 'Which one? [1/2]')
  if (answer === '1') return tool
  if (answer === '2') return own
  throw usageError('The answer must be 1 or 2; nothing was done')
}

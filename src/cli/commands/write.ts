// `create`, `write`, `append`, `str-replace`, `insert`, `rm` and `mv`: one change, one commit,
// durable before the answer. What agents can do too is in operations/actions.ts.

import { hasCode, type StoreError } from '../../errors.ts'
import * as actions from '../../operations/actions.ts'
import type { OperationContext } from '../../operations/operation.ts'
import type { Author } from '../../store/commits/commit-context.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import {
  type Answer,
  type Command,
  CommandError,
  type Context,
  type Input,
  type OptionTexts,
  usageError,
} from '../call/command.ts'
import { authorOf, authorOptions } from '../call/options.ts'
import { readStandardInput, readTextFile } from '../machine/files.ts'
import { withStore } from '../store/open-store.ts'
import { canAsk } from '../terminal/prompt.ts'
import { changedAnswer, numbered } from '../text/memories.ts'
import { storePath } from '../text/store-path.ts'
import { countText } from '../text/words.ts'

const dashNote = 'With -, the text comes from standard input.'
const contentOptions: OptionTexts = {
  '--text <text>': 'The text, as an argument (visible in the process list)',
  '--file <file>': 'Take the text from a file',
}

export const commands: readonly Command[] = [
  {
    name: 'create',
    summary: 'Create a memory',
    usage: '<path> [-]',
    options: {
      ...contentOptions,
      '--allow-disk-temp': 'Accept a plaintext file on disk if RAM is no option',
      ...authorOptions,
    },
    notes: [`${dashNote} Without a text it opens your editor, on a terminal, as \`edit\` does.`],
    run: create,
  },
  {
    name: 'write',
    summary: 'Make a memory hold a text, whether there is one yet or not',
    usage: '<path> [-]',
    options: { ...contentOptions, ...authorOptions },
    notes: [dashNote],
    run: write,
  },
  {
    name: 'append',
    summary: 'Add lines at the end of a memory, which is created if missing',
    usage: '<path> [-]',
    options: { ...contentOptions, ...authorOptions },
    notes: [
      `${dashNote} The text begins on a line of its own, and the memory ends in a newline ` +
        'afterwards if it did before.',
    ],
    run: append,
  },
  {
    name: 'str-replace',
    summary: 'Replace a text that occurs once in a memory',
    usage: '<path>',
    options: {
      '--old <text>': 'The text to replace',
      '--new <text>': 'The replacement; if omitted, the text is deleted',
      '--old-file <file>': 'Take the text to replace from a file',
      '--new-file <file>': 'Take the replacement from a file',
      ...authorOptions,
    },
    run: strReplace,
  },
  {
    name: 'insert',
    summary: 'Insert text after a line of a memory',
    usage: '<path> [-]',
    options: {
      '--line <number>': 'The line before it; 0 is the beginning',
      ...contentOptions,
      ...authorOptions,
    },
    run: insert,
  },
  {
    name: 'rm',
    destroys: true,
    summary: 'Delete a memory, or a directory with everything below it',
    usage: '<path>',
    options: {
      '-r, --recursive': 'Accepted, as by rm; a directory needs none',
      ...authorOptions,
    },
    run: rm,
  },
  {
    name: 'mv',
    summary: 'Rename a memory or a directory, or move it into a directory',
    usage: '<path> <new-path>',
    options: authorOptions,
    notes: ['A new path that is a directory, or ends in a slash, keeps the name below it.'],
    run: mv,
  },
]

async function create(context: Context, input: Input): Promise<Answer> {
  const path = storePath(input.argument(0))
  const given = await findText(input, 'create')
  if (given === undefined && canAsk(context)) return createInEditor(context, input, path)
  const file_text = given ?? missing('create')
  const author = authorOf(context, input)
  return withStore(context, async (store) => {
    const request = { path, file_text }
    const applied = await actions
      .create(writingTo(store, author), request)
      .catch(async (error: unknown) => {
        throw hasCode(error, 'path_conflict') ? await takenError(store, path, error) : error
      })
    return changedAnswer(`Created ${path}`, path, applied)
  })
}

/** What stands in the way of a new memory, and the commands for the one that has the path. */
async function takenError(store: MemoryStore, path: string, cause: unknown): Promise<StoreError> {
  const options = { details: { path }, cause }
  const type = (await store.list(path, { depth: 0 }))?.type
  if (type === 'directory') {
    const hint = 'Name a memory below it'
    return new CommandError('path_conflict', `${path} is a directory`, hint, options)
  }
  if (type === undefined) {
    const hint = 'Choose another path, or move that memory first'
    return new CommandError('path_conflict', `A part of ${path} is a memory`, hint, options)
  }
  const hint =
    `\`gitlocket write ${path}\` replaces its text, \`gitlocket append ${path}\` adds to it, and ` +
    `\`gitlocket edit ${path}\` opens it`
  return new CommandError('path_conflict', `There is a memory at ${path} already`, hint, options)
}

async function createInEditor(context: Context, input: Input, path: string): Promise<Answer> {
  const author = authorOf(context, input)
  const storeId = await withStore(context, async (store) => {
    if ((await store.list(path, { depth: 0 })) === undefined) return store.id
    throw await takenError(store, path, undefined)
  })
  const { editFrom } = await import('./edit.ts')
  return editFrom(context, input, { path, author, before: undefined, storeId })
}

async function write(context: Context, input: Input): Promise<Answer> {
  const path = storePath(input.argument(0))
  const text = (await findText(input, 'write')) ?? missing('write')
  const author = authorOf(context, input)
  return withStore(context, async (store) =>
    changedAnswer(`Wrote ${path}`, path, await store.as(author).write(path, text)),
  )
}

async function append(context: Context, input: Input): Promise<Answer> {
  const path = storePath(input.argument(0))
  const text = (await findText(input, 'append')) ?? missing('append')
  const author = authorOf(context, input)
  return withStore(context, async (store) => {
    const applied = await store.as(author).append(path, text)
    const [memory] = applied.memories
    const isNew = memory?.createdAt === memory?.updatedAt
    return changedAnswer(`${isNew ? 'Created' : 'Edited'} ${path}`, path, applied)
  })
}

async function strReplace(context: Context, input: Input): Promise<Answer> {
  const path = storePath(input.argument(0))
  const old_str = oneOf(input, 'old', 'old-file', 'str-replace')
  if (old_str === undefined)
    throw usageError('str-replace needs --old or --old-file', 'str-replace')
  if (old_str === '') throw usageError('The text to replace must not be empty', 'str-replace')
  const new_str = oneOf(input, 'new', 'new-file', 'str-replace')
  const request = { path, old_str, new_str }
  const applied = await run(context, input, actions.strReplace, request)
  const { text, json } = changedAnswer(`Edited ${path}`, path, applied)
  return { text: text + numbered(applied.snippet), json }
}

async function insert(context: Context, input: Input): Promise<Answer> {
  const path = storePath(input.argument(0))
  const insert_line = input.integer('line', 0, 999_999_999)
  if (insert_line === undefined) throw usageError('insert needs --line', 'insert')
  const insert_text = (await findText(input, 'insert')) ?? missing('insert')
  const request = { path, insert_line, insert_text }
  return changedAnswer(`Edited ${path}`, path, await run(context, input, actions.insert, request))
}

async function rm(context: Context, input: Input): Promise<Answer> {
  const path = storePath(input.argument(0))
  const author = authorOf(context, input)
  return withStore(context, async (store) => {
    const isDirectory = (await store.list(path, { depth: 0 }))?.type === 'directory'
    const applied = await actions.remove(writingTo(store, author), { path })
    const memories = countText(applied.versionIds.length, 'memory', 'memories')
    return changedAnswer(`Deleted ${path}${isDirectory ? `/ with ${memories}` : ''}`, path, applied)
  })
}

async function mv(context: Context, input: Input): Promise<Answer> {
  const old_path = storePath(input.argument(0))
  const target = input.argument(1)
  const author = authorOf(context, input)
  return withStore(context, async (store) => {
    const into = storePath(target)
    // A slash at the end means a directory, which may be a new one.
    const isInto =
      target.endsWith('/') || (await store.list(into, { depth: 0 }))?.type === 'directory'
    const below = `${into === '/' ? '' : into}${old_path.slice(old_path.lastIndexOf('/'))}`
    const new_path = isInto && into !== old_path ? below : into
    const applied = await actions.rename(writingTo(store, author), { old_path, new_path })
    return changedAnswer(`Moved ${old_path} to ${new_path}`, new_path, applied)
  })
}

function run<Request, Result>(
  context: Context,
  input: Input,
  action: (context: OperationContext, request: Request) => Promise<Result>,
  request: Request,
): Promise<Result> {
  const author = authorOf(context, input)
  return withStore(context, (store) => action(writingTo(store, author), request))
}

function writingTo(store: MemoryStore, author: Author): OperationContext {
  return { store, me: store.as(author), access: 'read_write' }
}

/** The one of --text, --file and `-` that is given. */
async function findText(input: Input, verb: string): Promise<string | undefined> {
  const dash = input.findArgument(1)
  if (dash !== undefined && dash !== '-') {
    throw usageError('Give the text with --text or --file, or - for standard input', verb)
  }
  const given = oneOf(input, 'text', 'file', verb)
  if (dash === undefined) return given
  if (given === undefined) return readStandardInput()
  throw usageError('Give the text once: --text, --file or -', verb)
}

function missing(verb: string): never {
  throw usageError(`${verb} needs --text, --file or - (standard input)`, verb)
}

/** The text of an option, or of the file that another one names. */
function oneOf(input: Input, text: string, file: string, verb: string): string | undefined {
  const path = input.text(file)
  const given = input.text(text)
  if (path === undefined) return given
  if (given === undefined) return readTextFile('the text', path)
  throw usageError(`Give --${text} or --${file}, not both`, verb)
}

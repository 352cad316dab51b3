// `edit`: the user's editor on a file in RAM, then one change. The store is not held open
// in the meantime: edit-merge.ts says what becomes of what others write at the same time.

import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { attempt, textOf, writeSecretFile } from '../../home/files.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import type { Memory } from '../../store/snapshot/memory-info.ts'
import {
  CommandError,
  type Answer,
  type Command,
  type Context,
  type Input,
} from '../call/command.ts'
import { authorOf, authorOptions } from '../call/options.ts'
import { type Scratch, withScratchDirectory } from '../machine/scratch-directory.ts'
import { saveEdit, type Edit } from '../store/edit-merge.ts'
import { withStore } from '../store/open-store.ts'
import { canAsk } from '../terminal/prompt.ts'
import { unchangedAnswer } from '../text/changed.ts'
import { storePath } from '../text/store-path.ts'
import { getMemory } from './read.ts'

export const commands: readonly Command[] = [
  {
    name: 'edit',
    summary: 'Edit a memory in your editor',
    usage: '<path>',
    options: {
      '--allow-disk-temp': 'Accept a plaintext file on disk if RAM is no option',
      ...authorOptions,
    },
    notes: [
      'The text is in a file that only you can read, on a file system in RAM, and the file is ' +
        'removed however the editor ends. An editor that keeps swap, undo or backup files ' +
        'elsewhere writes plaintext there: turn that off for such files.',
      'Concurrent edits by others are merged by lines. If they changed the same lines, you can ' +
        'open both on a terminal; otherwise nothing is saved, the exit code is 4, and your text ' +
        'is on standard output.',
      'On a terminal a path without a memory gets one, unless the text is left empty.',
    ],
    run: edit,
  },
]

async function edit(context: Context, input: Input): Promise<Answer> {
  const path = storePath(input.argument(0))
  const author = authorOf(context, input)
  const { memory, storeId } = await withStore(context, async (store) => ({
    memory: await findMemory(context, store, path),
    storeId: store.id,
  }))
  return editFrom(context, input, { path, author, before: memory?.content, storeId })
}

/** Opens the editor on the text, and saves the result. */
export async function editFrom(
  context: Context,
  input: Input,
  { storeId, ...read }: Pick<Edit, 'path' | 'author' | 'before'> & { readonly storeId: string },
): Promise<Answer> {
  const { path, before } = read
  const open = (content: string): Promise<string> =>
    editText(context, input, { storeId, path, content })
  const text = await open(before ?? '')
  if (text === (before ?? '')) return unchangedAnswer(path)
  return saveEdit(context, { ...read, text }, open)
}

/** Undefined where a user who sees the editor may write a new memory. Else throws `not_found`. */
async function findMemory(
  context: Context,
  store: MemoryStore,
  path: string,
): Promise<Memory | undefined> {
  const isFree = (await store.list(path, { depth: 0 })) === undefined
  return isFree && canAsk(context) ? undefined : getMemory(store, path)
}

interface EditedText {
  readonly storeId: string
  readonly path: string
  readonly content: string
}

/** What the user's editor makes of a text. */
function editText(
  context: Context,
  input: Input,
  { storeId, path, content }: EditedText,
): Promise<string> {
  const options = { allowDisk: input.flag('allow-disk-temp'), storeId }
  return withScratchDirectory(context, options, async ({ directory, useBy }) => {
    // The name shows in the process list, so only the extension is kept, for the editor's colours.
    const extension = /\.[A-Za-z0-9]{1,8}$/.exec(path)?.[0] ?? ''
    const file = join(directory, `memory${extension}`)
    writeSecretFile('a temporary file', file, content)
    await context.interrupts.ignoring(() => runEditor(context, file, useBy))
    return textOf(
      attempt('read a temporary file', file, () => readFileSync(file)),
      'the edited text',
    )
  })
}

/** Runs the editor through the shell, as git does: the variable may hold arguments. */
function runEditor(context: Context, file: string, useBy: Scratch['useBy']): Promise<void> {
  const editor = context.environment.editor ?? 'vi'
  return new Promise((resolve, reject) => {
    const child = spawn('/bin/sh', ['-c', `${editor} "$@"`, editor, file], { stdio: 'inherit' })
    const stop = context.interrupts.atExit(() => child.kill())
    if (child.pid !== undefined) useBy(child.pid)
    child.once('error', () => reject(editorFailed('could not be started')))
    child.once('exit', (status, signal) => {
      stop()
      if (status === 0) resolve()
      else reject(editorFailed(signal === null ? `ended with status ${status}` : `got ${signal}`))
    })
  })
}

function editorFailed(how: string): CommandError {
  const message = `The editor ${how}; nothing was changed`
  return new CommandError('invalid_input', message, 'Set VISUAL or EDITOR to your editor')
}

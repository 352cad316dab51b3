// `edit`: the user's editor on a file in RAM, then one change. The store is not held open
// meanwhile; what others changed at the same time is merged by lines, or nothing is written.

import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { applyPatch, structuredPatch } from 'diff'
import { StoreError } from '../../errors.ts'
import { attempt, textOf, writeSecretFile } from '../../home/files.ts'
import type { Change } from '../../store/changes/changes.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import type { Memory } from '../../store/snapshot/memory-info.ts'
import { changedAnswer, unchangedAnswer } from '../changed.ts'
import { CommandError } from '../command-error.ts'
import type { Answer, Input } from '../command.ts'
import type { Context } from '../context.ts'
import { withStore } from '../open-store.ts'
import { authorOf } from '../options.ts'
import { canAsk } from '../prompt.ts'
import { withScratchDirectory } from '../scratch-directory.ts'
import { storePath } from '../store-path.ts'
import { getMemory } from './read.ts'

const MERGE_TIMEOUT_MS = 3000

export async function edit(context: Context, input: Input): Promise<Answer> {
  const path = storePath(input.argument(0))
  const author = authorOf(context, input)
  const memory = await withStore(context, (store) => findMemory(context, store, path))
  const content = memory?.content ?? ''
  const edited = await editText(context, input, path, content)
  if (edited === content) return unchangedAnswer(path)
  return keepingText(edited, () =>
    withStore(context, async (store) => {
      const merge = (current: string): string => mergeEdit(content, edited, current)
      const change: Change =
        memory === undefined
          ? { type: 'create', path, content: edited }
          : { type: 'edit', path, edit: merge }
      const done = memory === undefined ? 'Created' : 'Edited'
      return changedAnswer(`${done} ${path}`, path, await store.as(author).apply([change]))
    }),
  )
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

/** What the user's editor makes of a text. */
export function editText(
  context: Context,
  input: Input,
  path: string,
  content: string,
): Promise<string> {
  return withScratchDirectory(context, input.flag('allow-disk-temp'), async (directory) => {
    // The name shows in the process list, so only the extension is kept, for the editor's colours.
    const extension = /\.[A-Za-z0-9]{1,8}$/.exec(path)?.[0] ?? ''
    const file = join(directory, `memory${extension}`)
    writeSecretFile('a temporary file', file, content)
    await context.interrupts.ignoring(() => runEditor(context, file))
    return textOf(
      attempt('read a temporary file', file, () => readFileSync(file)),
      'the edited text',
    )
  })
}

/** Runs the editor through the shell, as git does: the variable may hold arguments. */
function runEditor(context: Context, file: string): Promise<void> {
  const editor = context.environment.editor ?? 'vi'
  return new Promise((resolve, reject) => {
    const child = spawn('/bin/sh', ['-c', `${editor} "$@"`, editor, file], { stdio: 'inherit' })
    const stop = context.interrupts.atExit(() => child.kill())
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

/** Applies the edit to the current content. Throws `precondition_failed`. */
function mergeEdit(before: string, edited: string, current: string): string {
  if (current === before) return edited
  const patch = structuredPatch('', '', before, edited, '', '', { timeout: MERGE_TIMEOUT_MS })
  const merged = patch === undefined ? false : applyPatch(current, patch)
  if (merged !== false) return merged
  throw new StoreError('precondition_failed', 'The same lines were changed meanwhile')
}

/** An error of `work` gets the edited text as output, which would be lost otherwise. */
export async function keepingText<T>(edited: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    const message = `${error.message}; nothing was saved`
    const hint = 'Your text is on standard output; save it, and edit again'
    throw new CommandError(error.code, message, hint, { output: edited })
  }
}

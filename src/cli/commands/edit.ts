// `edit`: the user's editor on a file in RAM, then one change. The store is not held open
// meanwhile; what others changed at the same time is merged by lines, or nothing is written.

import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { applyPatch, structuredPatch } from 'diff'
import { StoreError } from '../../errors.ts'
import { attempt, textOf, writeSecretFile } from '../../home/files.ts'
import { CommandError } from '../command-error.ts'
import type { Answer, Input } from '../command.ts'
import type { Context } from '../context.ts'
import { withStore } from '../open-store.ts'
import { authorOf } from '../options.ts'
import { withScratchDirectory } from '../scratch-directory.ts'
import { storePath } from '../store-path.ts'
import { getMemory } from './read.ts'
import { answer } from './write.ts'

const MERGE_TIMEOUT_MS = 3000

export async function edit(context: Context, input: Input): Promise<Answer> {
  const path = storePath(input.argument(0))
  const author = authorOf(context, input)
  const { content } = await withStore(context, (store) => getMemory(store, path))
  const allowDisk = input.flag('allow-disk-temp')
  const edited = await withScratchDirectory(context, allowDisk, (directory) =>
    editText(context, directory, path, content),
  )
  if (edited === content) return answer('', path, { commit: undefined, versionIds: [] })
  const merge = (current: string): string => mergeEdit(content, edited, current)
  return withStore(context, async (store) =>
    answer(
      `Edited ${path}`,
      path,
      await store.as(author).apply([{ type: 'edit', path, edit: merge }]),
    ),
  ).catch((error: unknown) => {
    throw keepingText(error, edited)
  })
}

async function editText(
  context: Context,
  directory: string,
  path: string,
  content: string,
): Promise<string> {
  // The name shows in the process list, so only the extension is kept, for the editor's colours.
  const extension = /\.[A-Za-z0-9]{1,8}$/.exec(path)?.[0] ?? ''
  const file = join(directory, `memory${extension}`)
  writeSecretFile('a temporary file', file, content)
  await context.interrupts.ignoring(() => runEditor(context, file))
  return textOf(
    attempt('read a temporary file', file, () => readFileSync(file)),
    'the edited text',
  )
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

/** Adds the edited text as output, so that it is not lost with the temporary file. */
function keepingText(error: unknown, edited: string): unknown {
  if (!(error instanceof StoreError)) return error
  const message = `${error.message}; nothing was saved`
  const hint = 'Your text is on standard output; save it, and edit again'
  return new CommandError(error.code, message, hint, { output: edited })
}

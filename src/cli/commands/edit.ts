// `edit`: the user's editor on a file in RAM, then one change. The store is not held open in the
// meantime: concurrent changes are merged by lines, in the writer's queue. Where lines overlap, the
// user gets both in the editor; the marks between them must never be saved. Must lose no text: an
// unsaved one is printed.

import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { StoreError, hasCode } from '../../errors.ts'
import { attempt, textOf, writeSecretFile } from '../../home/files.ts'
import type { Author } from '../../store/commits/commit-context.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import { mergeEdits } from '../../store/merge/content-merge.ts'
import type { Memory } from '../../store/snapshot/live-memory.ts'
import type { MergePart } from '../../text/text-merge.ts'
import {
  CommandError,
  type Answer,
  type Command,
  type Context,
  type Input,
} from '../call/command.ts'
import { authorOf, authorOptions } from '../call/options.ts'
import { type ScratchDirectory, withScratchDirectory } from '../machine/scratch-directory.ts'
import { withStore } from '../store/open-store.ts'
import { askYes, canAsk } from '../terminal/prompt.ts'
import { changedAnswer, unchangedAnswer } from '../text/memories.ts'
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
    run: editMemory,
  },
]

async function editMemory(context: Context, input: Input): Promise<Answer> {
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
): Promise<Answer & { readonly isChanged: boolean }> {
  const { path, before } = read
  const open = (content: string): Promise<string> =>
    editText(context, input, { storeId, path, content })
  const text = await open(before ?? '')
  if (text === (before ?? '')) return { ...unchangedAnswer(path), isChanged: false }
  return { ...(await saveEdit(context, { ...read, text }, open)), isChanged: true }
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

/**
 * Runs the editor through the shell, as git does: the variable may hold arguments. The shell waits
 * until it is marked as a user of the file, and ends if this process is killed before that.
 */
function runEditor(
  context: Context,
  file: string,
  useBy: ScratchDirectory['useBy'],
): Promise<void> {
  const editor = context.environment.editor ?? 'vi'
  return new Promise((resolve, reject) => {
    const script = `read -r marked <&3 || exit; exec 3<&-\n${editor} "$@"`
    const child = spawn('/bin/sh', ['-c', script, editor, file], {
      stdio: ['inherit', 'inherit', 'inherit', 'pipe'],
    })
    const stop = context.interrupts.atExit(() => child.kill())
    const [, , , marked] = child.stdio
    if (child.pid !== undefined) useBy(child.pid)
    if (marked instanceof Writable) marked.on('error', () => {}).end('\n')
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

export interface Edit {
  readonly path: string
  readonly author: Author
  /** What the editor began from; undefined if there was no memory. */
  readonly before: string | undefined
  /** What it made of that. */
  readonly text: string
}

/** The memory has other lines where the edit has its own. */
class OverlapError extends StoreError {
  readonly now: string
  readonly parts: readonly MergePart[]

  constructor(now: string, parts: readonly MergePart[]) {
    super('precondition_failed', 'The same lines were changed in the meantime')
    this.now = now
    this.parts = parts
  }
}

/** `open` gives what the editor makes of a text. Throws with the text as output. */
export async function saveEdit(
  context: Context,
  edit: Edit,
  open: (text: string) => Promise<string>,
): Promise<Answer> {
  const next = await keepingText(edit.text, async () => {
    try {
      return await withStore(context, (store) => save(store, edit))
    } catch (error) {
      if (!(error instanceof OverlapError) || !canAsk(context)) throw error
      const question = 'The same lines were changed in the meantime. Open the editor with both?'
      if (!(await askYes(context, question))) throw error
      const marked = withMarks(error.parts)
      return { ...edit, before: error.now, text: await open(marked.text), marks: marked.marks }
    }
  })
  if (!('marks' in next)) return next
  const { marks, ...resolved } = next
  await keepingText(resolved.text, async () => checkResolved(resolved.text, marks))
  return saveEdit(context, resolved, open)
}

async function save(store: MemoryStore, edit: Edit): Promise<Answer> {
  const { path, author, before, text } = edit
  const me = store.as(author)
  if (before === undefined) {
    try {
      const created = await me.apply([{ type: 'create', path, content: text }])
      return changedAnswer(`Created ${path}`, path, created)
    } catch (error) {
      const now = hasCode(error, 'path_conflict') ? await store.read(path) : undefined
      if (now === undefined) throw error
      return save(store, { ...edit, before: '' })
    }
  }
  let written = text
  const applied = await me.edit(path, (now) => {
    written = merged(before, text, now)
    return written
  })
  const answer = changedAnswer(`Edited ${path}`, path, applied)
  if (written === text) return answer
  return { ...answer, note: 'Merged with concurrent edits; nothing overlapped' }
}

/** Throws an `OverlapError`. */
function merged(before: string, text: string, now: string): string {
  const parts = mergeEdits(before, text, now)
  if (parts.some((part) => !('text' in part))) throw new OverlapError(now, parts)
  return parts.map((part) => ('text' in part ? part.text : '')).join('')
}

interface Marks {
  readonly ours: string
  readonly between: string
  readonly theirs: string
}

/** The marks are those of git, but longer than any that the text has itself. */
function withMarks(parts: readonly MergePart[]): { readonly text: string; readonly marks: Marks } {
  const whole = parts.map((part) => ('text' in part ? part.text : part.ours + part.theirs)).join('')
  const own = whole.match(/^(?:<{7,}|={7,}|>{7,})/gm) ?? []
  const length = Math.max(6, ...own.map((mark) => mark.length)) + 1
  const [ours = '', between = '', theirs = ''] = ['<', '=', '>'].map((sign) => sign.repeat(length))
  const texts = parts.map((part) => {
    if ('text' in part) return part.text
    const sides = [`${ours} yours\n`, ended(part.ours), `${between}\n`, ended(part.theirs)]
    return `${sides.join('')}${theirs} there now\n`
  })
  return { text: texts.join(''), marks: { ours, between, theirs } }
}

function ended(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`
}

/** Throws `precondition_failed` while a mark is left. */
function checkResolved(text: string, { ours, between, theirs }: Marks): void {
  const isMark = (line: string): boolean =>
    line.startsWith(ours) || line === between || line.startsWith(theirs)
  if (!text.split('\n').some(isMark)) return
  throw new StoreError('precondition_failed', 'The marks around the lines of both are still there')
}

/** An error of `work` gets the edited text as output, which would be lost otherwise. */
async function keepingText<T>(edited: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    const message = `${error.message}; nothing was saved`
    const hint = 'Your text is on standard output; save it, and edit again'
    throw new CommandError(error.code, message, hint, { output: edited })
  }
}

// Saves what an editor made of a text, in one change: what others wrote since the text was read is
// merged by lines, in the writer's queue. Where lines overlap, the user gets both in the editor;
// the marks between them must never be saved. Must lose no text: what is not saved is printed.

import { StoreError, hasCode } from '../../errors.ts'
import type { Author } from '../../store/commits/commit-context.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import { mergeEdits } from '../../store/merge/content-merge.ts'
import type { MergePart } from '../../text/text-merge.ts'
import { CommandError, type Answer, type Context } from '../call/command.ts'
import { askYes, canAsk } from '../terminal/prompt.ts'
import { changedAnswer } from '../text/changed.ts'
import { withStore } from './open-store.ts'

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

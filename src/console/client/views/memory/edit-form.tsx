// Edits a memory or writes a new one, and saves on request. Later changes by others are merged into
// the text and shown before it is saved; if the same lines were changed, the user chooses. The
// store merges.

import { useLocation } from 'preact-iso'
import { useState } from 'preact/hooks'
import type { LiveMemoryView, MergedEdit } from '../../../../operations/console/contract.ts'
import { addressOf } from '../../core/address.ts'
import { ask, AskFailure } from '../../core/ask.ts'
import { mayWrite, notice } from '../../core/state.ts'
import { useAction } from '../../core/use-action.ts'
import { Field, submitting } from '../../parts/field.tsx'
import { Failure, Writer } from '../../parts/labels.tsx'
import { drafts, type EditDraft, keepDraft, reasonIn } from './drafts.ts'
import { Editor } from './editor.tsx'

interface EditFormProps {
  /** The memory as it is, which others may change at any time. */
  readonly now: LiveMemoryView
  readonly draft: EditDraft
  readonly onDone: () => void
}

/** `isOpen`: a merge has places for which nothing is chosen yet. */
function useEdit({ now, draft }: EditFormProps, reason: string, done: () => void) {
  const { memoryId } = now
  const [merged, setMerged] = useState<MergedEdit>()
  const [isOpen, setOpen] = useState(false)
  const { run, ...action } = useAction<void>()
  const take = (text: string, { content: base, sha256: expectedSha256 }: LiveMemoryView): void => {
    keepDraft(memoryId, { text, isChanged: true, base, expectedSha256 })
    setOpen(false)
  }
  const save = (): void => {
    void run(async () => {
      const { text: content, base, expectedSha256 } = drafts.peek().get(memoryId) ?? draft
      try {
        await ask('memory.update', { memoryId, content, expectedSha256, ...reasonIn(reason) })
      } catch (error) {
        if (!(error instanceof AskFailure) || error.code !== 'precondition_failed') throw error
        const next = await ask('memory.merge', { memoryId, base, content })
        setMerged(next)
        if (overlapsIn(next) === 0) take(textOf(next), next.theirs)
        else setOpen(true)
        return
      }
      notice.value = 'Saved'
      done()
    })
  }
  const choose = (text: string): void => {
    if (merged !== undefined) take(text, merged.theirs)
  }
  return { merged, isOpen, choose, save, action }
}

export function EditForm(props: EditFormProps) {
  const { now, draft, onDone } = props
  const { memoryId, path } = now
  const [reason, setReason] = useState('')
  const done = (): void => {
    keepDraft(memoryId, undefined)
    onDone()
  }
  const { merged, isOpen, choose, save, action } = useEdit(props, reason, done)
  if (merged !== undefined && isOpen) {
    return <Overlaps path={path} merged={merged} onChosen={choose} onDiscard={done} />
  }
  return (
    <section class="edit" aria-label={`Edit ${path}`}>
      <Others now={now} merged={merged} draft={draft} />
      <Editor
        label={`Text of ${path}`}
        text={drafts.peek().get(memoryId)?.text ?? draft.text}
        theirs={merged?.theirs.content}
        onText={(text) => keepDraft(memoryId, { ...draft, text, isChanged: true })}
        onSave={save}
      />
      <form class="go" onSubmit={submitting(save)}>
        <Field label="Reason (optional)" value={reason} onValue={setReason} />
        <span class="sp" />
        <button type="button" onClick={done}>
          Discard
        </button>
        <button type="submit" class="pri" aria-disabled={action.isRunning}>
          Save
        </button>
        <Failure failure={action.failure} />
      </form>
    </section>
  )
}

interface OthersProps {
  readonly now: LiveMemoryView
  readonly merged: MergedEdit | undefined
  readonly draft: EditDraft
}

/** Tells of the changes by others since the edit began. */
function Others({ now, merged, draft }: OthersProps) {
  if (now.sha256 !== draft.expectedSha256) {
    return (
      <p class="banner" role="status">
        <span>
          <Writer version={now.version} /> has changed this memory since you began. Save merges your
          text with it, and shows you the result first.
        </span>
      </p>
    )
  }
  if (merged === undefined) return null
  const how = overlapsIn(merged) === 0 ? 'Nothing overlaps.' : 'It has what you chose.'
  return (
    <p class="banner" role="status">
      <span>
        Merged with the change by <Writer version={merged.theirs.version} />. {how} The current text
        is at the left, your merged text at the right. Nothing is saved yet.
      </span>
    </p>
  )
}

function textOf({ parts }: MergedEdit): string {
  return parts.map((part) => ('text' in part ? part.text : '')).join('')
}

const sides = [
  ['both', 'Keep both'],
  ['ours', 'Keep yours'],
  ['theirs', 'Keep theirs'],
] as const

type Choice = (typeof sides)[number][0]

type Overlap = Exclude<MergedEdit['parts'][number], { readonly text: string }>

/** The number of choices. */
function overlapsIn({ parts }: MergedEdit): number {
  return parts.filter((part) => !('text' in part)).length
}

interface OverlapsProps {
  readonly path: string
  readonly merged: MergedEdit
  readonly onChosen: (text: string) => void
  readonly onDiscard: () => void
}

/**
 * The lines that the user and another writer have both changed, with a choice for each place. At
 * first both are kept, so that no line is dropped unseen.
 */
function Overlaps({ path, merged, onChosen, onDiscard }: OverlapsProps) {
  const [chosen, choose] = useState<ReadonlyMap<number, Choice>>(new Map())
  const { parts, theirs } = merged
  const places = parts.flatMap((part, index) => ('text' in part ? [] : [{ part, index }]))
  return (
    <form
      class="edit"
      aria-label={`Edit ${path}`}
      onSubmit={submitting(() => {
        const texts = parts.map((part, index) => chosenText(part, chosen.get(index) ?? 'both'))
        onChosen(joined(texts))
      })}
    >
      <p class="banner" role="alert">
        <span>
          <Writer version={theirs.version} /> has changed the same lines as you. Choose what to
          keep; everything else is merged. Nothing is saved yet.
        </span>
      </p>
      {places.map(({ part, index }, at) => (
        <fieldset key={index}>
          <legend>
            Place {at + 1} of {places.length}
          </legend>
          <p class="dim">Yours</p>
          <pre>{shown(part.ours)}</pre>
          <p class="dim">Theirs</p>
          <pre>{shown(part.theirs)}</pre>
          {sides.map(([side, label]) => (
            <label key={side}>
              <input
                type="radio"
                name={`place-${index}`}
                checked={(chosen.get(index) ?? 'both') === side}
                onChange={() => choose(new Map(chosen).set(index, side))}
              />{' '}
              {label}{' '}
            </label>
          ))}
        </fieldset>
      ))}
      <p class="go">
        <span class="sp" />
        <button type="button" onClick={onDiscard}>
          Discard
        </button>
        <button type="submit" class="pri">
          Continue
        </button>
      </p>
    </form>
  )
}

function chosenText(part: MergedEdit['parts'][number], side: Choice): string {
  if ('text' in part) return part.text
  return side === 'both' ? joined([part.theirs, part.ours]) : part[side]
}

/** A last line without a line feed gets one if another follows. */
function joined(texts: readonly string[]): string {
  return texts
    .filter((text) => text !== '')
    .map((text, index, all) =>
      index < all.length - 1 && !text.endsWith('\n') ? `${text}\n` : text,
    )
    .join('')
}

function shown(text: Overlap['ours']): string {
  return text === '' ? '(deleted)' : text
}

/** Keeps the draft of a new memory, which has no id. */
const NEW = ''
const EMPTY = { base: '', expectedSha256: '' }

export function NewMemoryPage() {
  const { route } = useLocation()
  const [path, setPath] = useState('/')
  const [reason, setReason] = useState('')
  const { run, isRunning, failure } = useAction<void>()
  if (!mayWrite.value) return <p>This console may look, but not write.</p>
  const save = (): void => {
    void run(async () => {
      const content = drafts.peek().get(NEW)?.text ?? ''
      const { memoryId } = await ask('memory.create', { path, content, ...reasonIn(reason) })
      keepDraft(NEW, undefined)
      route(addressOf.memory(memoryId))
    })
  }
  return (
    <>
      <h1>New memory</h1>
      <form onSubmit={submitting(save)}>
        <p class="path-field">
          <Field label="Path" value={path} onValue={setPath} isRequired autoFocus />
        </p>
        <Editor
          label="Text of the new memory"
          text={drafts.peek().get(NEW)?.text ?? ''}
          theirs={undefined}
          onText={(text) => keepDraft(NEW, { ...EMPTY, text, isChanged: true })}
          onSave={save}
        />
        <div class="go">
          <Field label="Reason (optional)" value={reason} onValue={setReason} />
          <span class="sp" />
          <button type="submit" class="pri" aria-disabled={isRunning}>
            Create
          </button>
          <Failure failure={failure} />
        </div>
      </form>
    </>
  )
}

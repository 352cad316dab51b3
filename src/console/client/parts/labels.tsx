// Small parts that all views share: the operation and author of a version, how far some work is,
// and its failure.

import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { Version } from '../../../store/history/versions.ts'
import type { AskFailure } from '../core/ask.ts'
import type { WorkProgress } from '../core/use-action.ts'
import { Icon } from './icons.tsx'

interface HeadingProps {
  readonly title: ComponentChildren
  /** Actions of the view. */
  readonly children?: ComponentChildren
}

/** The heading of a view. */
export function Heading({ title, children }: HeadingProps) {
  return (
    <div class="crumbs">
      <h1>{title}</h1>
      {children !== undefined && <div class="acts">{children}</div>}
    </div>
  )
}

const CLASSES = { created: 'op cre', modified: 'op mod', deleted: 'op rem' } as const
const LETTERS = { created: 'C', modified: 'M', deleted: 'D' } as const

export function OperationBadge({ operation }: { readonly operation: Version['operation'] }) {
  return (
    <span class={CLASSES[operation]} role="img" aria-label={operation} title={operation}>
      {LETTERS[operation]}
    </span>
  )
}

type Written = Pick<Version, 'session' | 'createdBy'>

/** The session if there is one, which is undone as a whole; else the actor. */
export function writerOf({ session, createdBy }: Written): string {
  return session ?? createdBy?.id ?? 'unknown'
}

export function Writer({ version }: { readonly version: Written }) {
  const type = version.session === undefined ? version.createdBy?.type : 'session'
  return (
    <>
      <b>{writerOf(version)}</b> {type !== undefined && <span class="tag">{type}</span>}
    </>
  )
}

/** A bar for work whose end is known. */
export function ProgressBar({ progress }: { readonly progress: WorkProgress | undefined }) {
  if (progress === undefined || progress.total === 0) return null
  return <progress aria-label="Progress" value={progress.done} max={progress.total} />
}

interface FailureProps {
  /** Nothing is drawn for undefined. */
  readonly failure: AskFailure | undefined
}

/** A refusal or failure, shown next to its question. */
export function Failure({ failure }: FailureProps) {
  if (failure === undefined) return null
  const { message, path, advice } = failure
  return (
    <p class="failure" role="alert">
      <b>
        {message}
        {path !== undefined && `: ${path}`}
      </b>
      {advice !== undefined && ` — ${advice}`}
    </p>
  )
}

/** Stands for an answer that is not there yet, or never comes. */
export function Pending({ failure }: FailureProps) {
  return failure === undefined ? <p role="status">Reading…</p> : <Failure failure={failure} />
}

interface CopiedTextProps {
  /** Names the text for those who hear it. */
  readonly label: string
  readonly text: string
}

/** A short text that a user takes elsewhere, with a button that copies it. */
export function CopiedText({ label, text }: CopiedTextProps) {
  const [said, say] = useState('')
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text)
      say('Copied')
    } catch {
      say('The browser does not allow that: select the text')
    }
  }
  return (
    <p class="copied">
      <code>{text}</code>
      <button type="button" class="bare" aria-label={`Copy ${label}`} onClick={() => void copy()}>
        <Icon name="copy" />
      </button>
      <span class="dim" role="status">
        {said}
      </span>
    </p>
  )
}

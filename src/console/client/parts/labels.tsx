// Small labels that all views share: the operation and its author.

import type { JSX } from 'preact'
import type { Version } from '../../../store/history/versions.ts'

type Operation = 'created' | 'modified' | 'deleted'

const CLASSES = { created: 'op cre', modified: 'op mod', deleted: 'op rem' } as const
const LETTERS = { created: 'C', modified: 'M', deleted: 'D' } as const

export function OperationBadge({ operation }: { readonly operation: Operation }): JSX.Element {
  return (
    <span class={CLASSES[operation]} role="img" aria-label={operation} title={operation}>
      {LETTERS[operation]}
    </span>
  )
}

type Written = Pick<Version, 'session' | 'createdBy'>

/** The session if there is one, which is undone as a whole; else the actor. */
export function Writer({ version }: { readonly version: Written }): JSX.Element {
  const { session, createdBy } = version
  const type = session === undefined ? createdBy?.type : 'session'
  return (
    <>
      <b>{session ?? createdBy?.id ?? 'unknown'}</b>{' '}
      {type !== undefined && <span class="tag">{type}</span>}
    </>
  )
}

/** A bar for work whose end is known. */
export function ProgressBar({
  progress,
}: {
  readonly progress: { readonly done: number; readonly total: number } | undefined
}): JSX.Element | null {
  if (progress === undefined || progress.total === 0) return null
  return <progress aria-label="Progress" value={progress.done} max={progress.total} />
}

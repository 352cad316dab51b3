// Long lists, one page at a time: the page of the console never holds more rows than it shows.

import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { InputOf, QuestionName, ResultOf } from '../../../operations/console/contract.ts'
import { type Asked, type AskHow, useAsk } from '../core/use-ask.ts'

/** Those that are answered with a page, newest first. */
type PagedName = {
  [Name in QuestionName]: ResultOf<Name> extends { readonly nextPage: string | undefined }
    ? Name
    : never
}[QuestionName]

export interface Paging {
  /** Counted from 0. */
  readonly page: number
  readonly hasNext: boolean
  readonly turn: (page: number) => void
}

/** The page that is shown of an answer; another input begins with its first one. */
export function usePages<Name extends PagedName>(
  name: Name,
  input: InputOf<Name> | undefined,
  how: AskHow = {},
): Asked<ResultOf<Name>> & { readonly paging: Paging } {
  const key = JSON.stringify(input) ?? ''
  const [held, hold] = useState<{ readonly key: string; readonly cursors: readonly string[] }>()
  // The cursor with which each page after the first one begins, up to the shown one.
  const cursors = held?.key === key ? held.cursors : []
  const asked = useAsk(name, input && { ...input, after: cursors.at(-1) }, how)
  const next = asked.data?.nextPage
  const turn = (page: number): void => {
    const known = next === undefined ? cursors : [...cursors, next]
    hold({ key, cursors: known.slice(0, page) })
  }
  return { ...asked, paging: { page: cursors.length, hasNext: next !== undefined, turn } }
}

interface PagerProps {
  /** What the list is of, for those who hear it: `Timeline`. */
  readonly label: string
  readonly paging: Paging
}

/**
 * Nothing if all is on one page. The buttons keep their places, so that no button loses the focus.
 */
export function Pager({ label, paging: { page, hasNext, turn } }: PagerProps) {
  if (page === 0 && !hasNext) return null
  return (
    <nav class="pager" aria-label={`Pages of: ${label}`}>
      <button type="button" aria-disabled={page === 0} onClick={() => page > 0 && turn(page - 1)}>
        Previous
      </button>
      <span role="status">Page {page + 1}</span>
      <button type="button" aria-disabled={!hasNext} onClick={() => hasNext && turn(page + 1)}>
        Next
      </button>
    </nav>
  )
}

interface SlicesProps<Row> {
  readonly label: string
  readonly rows: readonly Row[]
  readonly children: (rows: readonly Row[]) => ComponentChildren
}

const ROWS_A_PAGE = 100

/** A list that is all here, of which one page at a time is drawn. */
export function Slices<Row>({ label, rows, children }: SlicesProps<Row>) {
  const [turned, turn] = useState(0)
  const last = Math.max(0, Math.ceil(rows.length / ROWS_A_PAGE) - 1)
  const page = Math.min(turned, last)
  return (
    <>
      {children(rows.slice(page * ROWS_A_PAGE, (page + 1) * ROWS_A_PAGE))}
      <Pager label={label} paging={{ page, hasNext: page < last, turn }} />
    </>
  )
}

// A long list that is all here, of which one page at a time is drawn.

import type { ComponentChildren, JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Pager } from './pager.tsx'

interface SlicesProps<Row> {
  readonly label: string
  readonly rows: readonly Row[]
  readonly children: (rows: readonly Row[]) => ComponentChildren
}

const ROWS_A_PAGE = 100

export function Slices<Row>({ label, rows, children }: SlicesProps<Row>): JSX.Element {
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

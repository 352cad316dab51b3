// A table of rows in a region that the keyboard can scroll.

import type { ComponentChildren } from 'preact'

interface ListTableProps {
  /** Names the table for those who hear it. */
  readonly label: string
  readonly heads: readonly ComponentChildren[]
  /** Its rows. */
  readonly children: ComponentChildren
}

export function ListTable({ label, heads, children }: ListTableProps) {
  return (
    <div class="wide-list" tabIndex={0} role="region" aria-label={label}>
      <table class="list" style={headNames(heads)}>
        <thead>
          <tr>
            {heads.map((head, index) => (
              <th key={index} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  )
}

/** For the style of narrow pages, in which each row is a card, and each cell has its head. */
function headNames(heads: readonly ComponentChildren[]): Record<string, string> {
  const texts = heads.map((head) => (typeof head === 'string' ? head : ''))
  return Object.fromEntries(
    texts.map((text, index) => [`--head-${index + 1}`, JSON.stringify(text)]),
  )
}

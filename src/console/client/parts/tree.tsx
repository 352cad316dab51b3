// A tree of rows by the tree pattern of ARIA: arrow keys, Home, End, and Enter. Only the rows in
// sight are in the page.

import type { ComponentChildren, RefObject } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { Icon } from './icons.tsx'
import { countOf } from './times.ts'
import { type FolderRow, parentOf, type TreeItem, type TreeRow } from './tree-rows.ts'

interface TreeProps<Item extends TreeItem> {
  /** Names the tree for those who hear it. */
  readonly label: string
  readonly rows: readonly TreeRow<Item>[]
  /** The index of the row that keys begin from; -1 for none. */
  readonly active: number
  /** How many rows are in sight at most. */
  readonly inSight: number
  /** The key of the row that is shown elsewhere; the active one if left out. */
  readonly selected?: string | undefined
  readonly onMove: (index: number) => void
  readonly onToggle: (key: string, isOpen: boolean) => void
  /** A memory was clicked, or Enter pressed on it. */
  readonly onOpen?: ((item: Item) => void) | undefined
  /** The contents of a row. */
  readonly children: (row: TreeRow<Item>) => ComponentChildren
}

/** The height of a row, as in style/history.css. */
const ROW_PX = 30
/** How many are drawn beyond those in sight, on either side. */
const BEYOND = 8

export function Tree<Item extends TreeItem>(props: TreeProps<Item>) {
  const { label, rows, active, inSight, selected, children } = props
  const id = useId()
  const { box, first, drawn, onScroll } = useWindow(rows, inSight)
  const { onKeyDown, onPick } = useMoves(box, props)
  const isDrawn = active >= first && active < first + drawn.length
  return (
    <div
      class="change-rows"
      role="tree"
      aria-label={label}
      tabIndex={0}
      ref={box}
      aria-activedescendant={isDrawn ? `${id}-${active}` : undefined}
      onScroll={onScroll}
      onFocus={() => keepInSight(box.current, active)}
      onKeyDown={onKeyDown}
    >
      <Space rows={first} />
      {drawn.map((row, at) => (
        <Row
          key={row.key}
          id={`${id}-${first + at}`}
          row={row}
          isActive={first + at === active}
          isSelected={selected === undefined ? first + at === active : row.key === selected}
          onPick={() => onPick(row, first + at)}
        >
          {children(row)}
        </Row>
      ))}
      <Space rows={rows.length - first - drawn.length} />
    </div>
  )
}

export function FolderCells({ row }: { readonly row: FolderRow }) {
  return (
    <>
      <span class="tw" aria-hidden="true">
        <Icon name={row.isOpen ? 'open' : 'closed'} />
      </span>
      <b>{row.name}</b>
      <span class="dim">{countOf(row.memories, 'memory')}</span>
    </>
  )
}

/** What the keys of the tree pattern and a click do. */
function useMoves<Item extends TreeItem>(
  box: RefObject<HTMLElement | null>,
  { rows, active, inSight, onMove, onToggle, onOpen }: TreeProps<Item>,
) {
  const go = (index: number): void => {
    const to = Math.min(Math.max(index, 0), rows.length - 1)
    keepInSight(box.current, to)
    onMove(to)
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.altKey || event.ctrlKey || event.metaKey) return
    const row = rows[active]
    if (event.key === 'Enter' && row?.kind === 'memory' && onOpen !== undefined) {
      event.preventDefault()
      onOpen(row.item)
      return
    }
    const move = moveOf(event.key, rows, { active, inSight })
    if (move === undefined) return
    event.preventDefault()
    if (typeof move === 'number') go(move)
    else onToggle(move.key, !move.isOpen)
  }
  const onPick = (row: TreeRow<Item>, index: number): void => {
    go(index)
    if (row.kind === 'folder') onToggle(row.key, !row.isOpen)
    else onOpen?.(row.item)
  }
  return { onKeyDown, onPick }
}

/** The rows in sight, and a few beyond them. */
function useWindow<Row>(rows: readonly Row[], inSight: number) {
  const box = useRef<HTMLDivElement>(null)
  const [top, setTop] = useState(0)
  // Closed folders may have left fewer rows than were scrolled past.
  const first = Math.max(0, Math.min(Math.floor(top / ROW_PX), rows.length - 1) - BEYOND)
  const drawn = rows.slice(first, first + inSight + 2 * BEYOND)
  const onScroll = (): void => setTop(box.current?.scrollTop ?? 0)
  // Fewer rows scroll the box without an event, in some browsers.
  useEffect(onScroll, [rows.length])
  return { box, first, drawn, onScroll }
}

/** Takes the room of rows that are not drawn. */
function Space({ rows }: { readonly rows: number }) {
  return <div role="presentation" style={{ height: `${rows * ROW_PX}px` }} />
}

/** Where a key leads, or the folder that it opens or closes. */
function moveOf(
  key: string,
  rows: readonly TreeRow<TreeItem>[],
  { active, inSight }: { readonly active: number; readonly inSight: number },
): number | FolderRow | undefined {
  const row = rows[active]
  const folder = row?.kind === 'folder' ? row : undefined
  if (key === 'ArrowDown') return active + 1
  if (key === 'ArrowUp') return active - 1
  if (key === 'Home') return 0
  if (key === 'End') return rows.length - 1
  if (key === 'PageDown') return active + inSight
  if (key === 'PageUp') return active - inSight
  if (key === 'Enter' || key === ' ') return folder
  if (key === 'ArrowRight' && folder !== undefined) return folder.isOpen ? active + 1 : folder
  if (key !== 'ArrowLeft') return undefined
  if (folder?.isOpen === true) return folder
  const parent = parentOf(rows, active)
  return parent === -1 ? active : parent
}

function keepInSight(box: HTMLElement | null, index: number): void {
  if (box === null) return
  const top = index * ROW_PX
  const lowest = top + ROW_PX - box.clientHeight
  if (box.scrollTop > top) box.scrollTop = top
  else if (box.scrollTop < lowest) box.scrollTop = lowest
}

interface TreeRowProps {
  readonly id: string
  readonly row: TreeRow<TreeItem>
  readonly isActive: boolean
  readonly isSelected: boolean
  readonly onPick: () => void
  readonly children: ComponentChildren
}

function Row({ id, row, isActive, isSelected, onPick, children }: TreeRowProps) {
  return (
    <div
      id={id}
      class={`change-row${isActive ? ' at' : ''}${isSelected ? ' on' : ''}`}
      role="treeitem"
      aria-level={row.level}
      aria-posinset={row.position}
      aria-setsize={row.siblings}
      aria-selected={isSelected}
      aria-expanded={row.kind === 'folder' ? row.isOpen : undefined}
      style={{ paddingInlineStart: `${row.level * 14 - 6}px` }}
      onClick={onPick}
    >
      {children}
    </div>
  )
}

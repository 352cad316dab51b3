// What changed in many memories, as a tree by path, and beside it the difference of the one that is
// selected. Only the rows in sight are in the page. Moving through the tree with the arrow keys
// shows one difference after the other.

import type { ComponentChildren, JSX, RefObject } from 'preact'
import { useId, useMemo, useRef, useState } from 'preact/hooks'
import { type ChangeRow, changeRows, parentOf, type TreeChange } from './change-rows.ts'
import { OperationBadge } from './labels.tsx'
import { countOf } from './times.ts'

interface ChangeTreeProps {
  /** Names the tree for those who hear it. */
  readonly label: string
  readonly changes: readonly TreeChange[]
  /** The difference of one of them. */
  readonly children: (change: TreeChange) => ComponentChildren
}

/** The height of a row, and how many are in sight at most: as in style/history.css. */
const ROW_PX = 30
const SHOWN_ROWS_MAX = 18
/** How many are drawn beyond those in sight, on either side. */
const BEYOND = 8

export function ChangeTree({ label, changes, children }: ChangeTreeProps): JSX.Element {
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set())
  const [activeKey, setActiveKey] = useState<string>()
  const rows = useMemo(() => changeRows(changes, closed), [changes, closed])
  // What was selected may be gone after a change of the store.
  const found = rows.findIndex((row) => row.key === activeKey)
  const active = found === -1 ? rows.findIndex((row) => row.kind === 'memory') : found
  const shown = useShown(rows[active])
  const toggle = (key: string, isOpen: boolean): void => {
    const next = new Set(closed)
    if (isOpen) next.delete(key)
    else next.add(key)
    setClosed(next)
  }
  const onMove = (index: number): void => setActiveKey(rows[index]?.key)
  const change = changes.find(({ memoryId }) => memoryId === shown)
  return (
    <div class="changes">
      <Rows label={label} rows={rows} active={active} onMove={onMove} onToggle={toggle} />
      <section class="change" aria-label="The selected change">
        {change === undefined ? (
          <p class="dim">Select a memory to see what changed.</p>
        ) : (
          <SelectedChange key={shown} change={change}>
            {children(change)}
          </SelectedChange>
        )}
      </section>
    </div>
  )
}

/** The memory whose difference is shown: it stays while the user moves over folders. */
function useShown(row: ChangeRow | undefined): string | undefined {
  const last = useRef<string>(undefined)
  if (row?.kind === 'memory') last.current = row.key
  return last.current
}

function SelectedChange({
  change: { path, movedFrom, operation, memoryId },
  children,
}: {
  readonly change: TreeChange
  readonly children: ComponentChildren
}): JSX.Element {
  return (
    <>
      <h2>
        <OperationBadge operation={operation} /> {path ?? memoryId}
      </h2>
      {movedFrom !== undefined && <p class="dim">Moved here from {movedFrom}</p>}
      {children}
    </>
  )
}

interface RowsProps {
  readonly label: string
  readonly rows: readonly ChangeRow[]
  readonly active: number
  readonly onMove: (index: number) => void
  readonly onToggle: (key: string, isOpen: boolean) => void
}

function Rows(props: RowsProps): JSX.Element {
  const { label, rows, active } = props
  const id = useId()
  const { box, first, drawn, onScroll } = useWindow(rows)
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
          onPick={() => onPick(row, first + at)}
        />
      ))}
      <Space rows={rows.length - first - drawn.length} />
    </div>
  )
}

/** What the keys of the tree pattern and a click do. */
function useMoves(
  box: RefObject<HTMLElement | null>,
  { rows, active, onMove, onToggle }: RowsProps,
) {
  const go = (index: number): void => {
    const to = Math.min(Math.max(index, 0), rows.length - 1)
    keepInSight(box.current, to)
    onMove(to)
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    const move = moveOf(event.key, rows, active)
    if (move === undefined || event.altKey || event.ctrlKey || event.metaKey) return
    event.preventDefault()
    if (typeof move === 'number') go(move)
    else onToggle(move.key, !move.isOpen)
  }
  const onPick = (row: ChangeRow, index: number): void => {
    go(index)
    if (row.kind === 'folder') onToggle(row.key, !row.isOpen)
  }
  return { onKeyDown, onPick }
}

/** The rows in sight, and a few beyond them. */
function useWindow(rows: readonly ChangeRow[]) {
  const box = useRef<HTMLDivElement>(null)
  const [top, setTop] = useState(0)
  // Closed folders may have left fewer rows than were scrolled past.
  const first = Math.max(0, Math.min(Math.floor(top / ROW_PX), rows.length - 1) - BEYOND)
  const drawn = rows.slice(first, first + SHOWN_ROWS_MAX + 2 * BEYOND)
  const onScroll = (): void => setTop(box.current?.scrollTop ?? 0)
  return { box, first, drawn, onScroll }
}

/** Takes the room of rows that are not drawn. */
function Space({ rows }: { readonly rows: number }): JSX.Element {
  return <div role="presentation" style={{ height: `${rows * ROW_PX}px` }} />
}

/** Where a key leads, or the folder that it opens or closes. */
function moveOf(
  key: string,
  rows: readonly ChangeRow[],
  active: number,
): number | Extract<ChangeRow, { kind: 'folder' }> | undefined {
  const row = rows[active]
  const folder = row?.kind === 'folder' ? row : undefined
  if (key === 'ArrowDown') return active + 1
  if (key === 'ArrowUp') return active - 1
  if (key === 'Home') return 0
  if (key === 'End') return rows.length - 1
  if (key === 'PageDown') return active + SHOWN_ROWS_MAX
  if (key === 'PageUp') return active - SHOWN_ROWS_MAX
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

interface RowProps {
  readonly id: string
  readonly row: ChangeRow
  readonly isActive: boolean
  readonly onPick: () => void
}

function Row({ id, row, isActive, onPick }: RowProps): JSX.Element {
  return (
    <div
      id={id}
      class={isActive ? 'change-row on' : 'change-row'}
      role="treeitem"
      aria-level={row.level}
      aria-posinset={row.position}
      aria-setsize={row.siblings}
      aria-selected={isActive}
      aria-expanded={row.kind === 'folder' ? row.isOpen : undefined}
      style={{ paddingInlineStart: `${row.level * 14 - 6}px` }}
      onClick={onPick}
    >
      {row.kind === 'folder' ? (
        <>
          <span class="tw" aria-hidden="true">
            {row.isOpen ? '▾' : '▸'}
          </span>
          <b>{row.name}</b>
          <span class="dim">{countOf(row.changes, 'memory')}</span>
        </>
      ) : (
        <MemoryCells name={row.name} change={row.change} />
      )}
    </div>
  )
}

function MemoryCells({
  name,
  change: { path, operation, movedFrom, isRedacted, note },
}: {
  readonly name: string
  readonly change: TreeChange
}): JSX.Element {
  return (
    <>
      <OperationBadge operation={operation} />
      <span class={operation === 'deleted' ? 'name gone' : 'name'}>{name}</span>
      {path === undefined && <span class="tag">path redacted</span>}
      {movedFrom !== undefined && <span class="tag">moved</span>}
      {isRedacted === true && <span class="tag">redacted</span>}
      {note !== undefined && <span class="dim">{note}</span>}
    </>
  )
}

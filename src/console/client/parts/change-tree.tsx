// What changed in many memories, as a tree by path, and next to it the difference of the one that
// is selected. Only the rows in sight are in the page. Moving through the tree with the arrow keys
// shows one difference after the other.

import type { ComponentChildren } from 'preact'
import { useMemo, useRef, useState } from 'preact/hooks'
import { OperationBadge } from './labels.tsx'
import { type MemoryRow, type TreeItem, type TreeRow, treeRows } from './tree-rows.ts'
import { FolderCells, Tree } from './tree.tsx'

/** What happened, or would happen, to one memory. */
export interface TreeChange extends TreeItem {
  readonly operation: 'created' | 'modified' | 'deleted'
  readonly movedFrom?: string | undefined
  /** Whether a part of it is redacted. */
  readonly isRedacted?: boolean | undefined
  /** A few more words, such as `3 versions`. */
  readonly note?: string | undefined
}

interface ChangeTreeProps {
  /** Names the tree for those who hear it. */
  readonly label: string
  readonly changes: readonly TreeChange[]
  /** The difference of one of them. */
  readonly children: (change: TreeChange) => ComponentChildren
}

/** As in style/history.css. */
const ROWS_IN_SIGHT = 18

export function ChangeTree({ label, changes, children }: ChangeTreeProps) {
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set())
  const [activeKey, setActiveKey] = useState<string>()
  const rows = useMemo(() => treeRows(changes, (key) => !closed.has(key)), [changes, closed])
  // The selection may no longer exist after a change of the store.
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
      <Tree
        label={label}
        rows={rows}
        active={active}
        inSight={ROWS_IN_SIGHT}
        onMove={onMove}
        onToggle={toggle}
      >
        {(row) => (row.kind === 'folder' ? <FolderCells row={row} /> : <MemoryCells row={row} />)}
      </Tree>
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

/** The memory whose difference is shown: it is kept while the user moves over folders. */
function useShown(row: TreeRow<TreeChange> | undefined): string | undefined {
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
}) {
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

function MemoryCells({ row }: { readonly row: MemoryRow<TreeChange> }) {
  const { path, operation, movedFrom, isRedacted, note } = row.item
  return (
    <>
      <OperationBadge operation={operation} />
      <span class={operation === 'deleted' ? 'name gone' : 'name'}>{row.name}</span>
      {path === undefined && <span class="tag">path redacted</span>}
      {movedFrom !== undefined && <span class="tag">moved</span>}
      {isRedacted === true && <span class="tag">redacted</span>}
      {note !== undefined && <span class="dim">{note}</span>}
    </>
  )
}

// The tree of all memories of the moment that is shown, by path.

import { useLocation } from 'preact-iso'
import { useMemo, useState } from 'preact/hooks'
import type { ResultOf } from '../../../operations/console/contract.ts'
import { addressOf, atNow } from '../core/address.ts'
import { isPast, mayWrite, pending } from '../core/state.ts'
import { useAsk } from '../core/use-ask.ts'
import { Check } from '../parts/field.tsx'
import { Icon } from '../parts/icons.tsx'
import { Failure } from '../parts/labels.tsx'
import { countOf, relativeTime, sizeText } from '../parts/times.ts'
import { type TreeItem, treeRows } from '../parts/tree-rows.ts'
import { FolderCells, Tree } from '../parts/tree.tsx'

/** The rows of the tallest screens. */
const ROWS_IN_SIGHT = 60
/** In a larger store folders are closed at first. */
const OPEN_MAX = 200

interface Item extends TreeItem {
  readonly path: string
  readonly time: number
}

export function MemoryTree() {
  const [withDeleted, setWithDeleted] = useState(false)
  const [filter, setFilter] = useState('')
  const asked = { at: atNow.value, deleted: withDeleted }
  const { data, failure } = useAsk('memories.tree', asked, { keepsLast: true })
  return (
    <aside class="tree" aria-label="Memories">
      <div class="tools">
        <label class="sr" for="filter">
          Filter paths
        </label>
        <span class="with-clear">
          <input
            id="filter"
            placeholder="Filter paths"
            autocomplete="off"
            value={filter}
            onInput={({ currentTarget }) => setFilter(currentTarget.value)}
          />
          {filter !== '' && (
            <button
              type="button"
              class="bare"
              aria-label="Clear the filter"
              onClick={() => {
                setFilter('')
                document.getElementById('filter')?.focus()
              }}
            >
              <Icon name="close" />
            </button>
          )}
        </span>
        {mayWrite.value && (
          <a class="button" href={addressOf.newMemory()} aria-label="New memory">
            <Icon name="add" />
          </a>
        )}
      </div>
      <Failure failure={failure} />
      {data !== undefined && <Rows tree={data} filter={filter.toLowerCase()} />}
      <p class="foot">
        {data !== undefined && <Sums tree={data} />}
        <Check label="Show deleted" isOn={withDeleted} onTurn={setWithDeleted} />
      </p>
    </aside>
  )
}

function Sums({
  tree: { memories, redacted, displaced },
}: {
  readonly tree: ResultOf<'memories.tree'>
}) {
  const bytes = useMemo(() => memories.reduce((sum, one) => sum + one.sizeBytes, 0), [memories])
  return (
    <>
      {countOf(memories.length, 'memory')} · {sizeText(bytes)}
      {redacted > 0 && ` · ${redacted} redacted`}
      {displaced > 0 && ` · ${displaced} displaced`}
      <br />
    </>
  )
}

interface RowsProps {
  readonly tree: ResultOf<'memories.tree'>
  /** In lower case; empty for all. */
  readonly filter: string
}

function Rows({ tree, filter }: RowsProps) {
  const { path, route } = useLocation()
  const shown = /^\/memory\/(\w+)/.exec(path)?.[1]
  const [opened, setOpened] = useState<ReadonlyMap<string, boolean>>(new Map())
  const [activeKey, setActiveKey] = useState<string>()
  const items = useMemo(() => itemsOf(tree), [tree])
  const found = useMemo(() => {
    if (filter === '') return items
    return items.filter((item) => item.path.toLowerCase().includes(filter))
  }, [items, filter])
  const rows = useMemo(() => {
    // What a filter finds is seen, whatever was closed before.
    if (filter !== '') return treeRows(found, () => true)
    const isSmall = items.length <= OPEN_MAX
    const way = items.find(({ memoryId }) => memoryId === shown)?.path ?? ''
    return treeRows(found, (key) => opened.get(key) ?? (isSmall || way.startsWith(`${key}/`)))
  }, [found, opened, shown, filter])
  const merged = new Set(pending.value?.merges.map(({ memoryId }) => memoryId))
  const indexOf = (key: string | undefined): number => rows.findIndex((row) => row.key === key)
  const at = indexOf(activeKey)
  const active = at === -1 ? Math.max(0, indexOf(shown)) : at
  if (rows.length === 0) {
    return <p class="dim">{items.length === 0 ? 'No memories.' : 'No path has that in it.'}</p>
  }
  return (
    <Tree
      label="Memories by path"
      rows={rows}
      active={active}
      inSight={ROWS_IN_SIGHT}
      selected={shown ?? ''}
      onMove={(index) => setActiveKey(rows[index]?.key)}
      onToggle={(key, isOpen) => setOpened(new Map([...opened, [key, isOpen]]))}
      onOpen={({ memoryId }) => route(addressOf.memory(memoryId))}
    >
      {(row) =>
        row.kind === 'folder' ? (
          <FolderCells row={row} />
        ) : (
          <>
            <span class={row.item.operation === 'deleted' ? 'name gone' : 'name'}>{row.name}</span>
            {merged.has(row.key) && (
              <span class="merge-mark" role="img" aria-label="merged, not reviewed">
                <Icon name="merges" />
              </span>
            )}
            <span class="dim">
              {row.item.operation === 'deleted' ? 'deleted' : ageOf(row.item.time)}
            </span>
          </>
        )
      }
    </Tree>
  )
}

/** In the past, the time since now is meaningless. */
function ageOf(time: number): string {
  return isPast.peek() ? '' : relativeTime(time)
}

function itemsOf({ memories, deleted }: ResultOf<'memories.tree'>): readonly Item[] {
  return [
    ...memories.map(({ memoryId, path, updatedAt }) => ({ memoryId, path, time: updatedAt })),
    ...deleted.map(({ memoryId, path, deletedAt }) => {
      return { memoryId, path, time: deletedAt, operation: 'deleted' as const }
    }),
  ]
}

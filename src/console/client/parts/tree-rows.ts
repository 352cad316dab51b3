// The rows of a tree of memories: folders first, then memories, by path. A path may be that of a
// memory and of a folder at once, and that of two memories, of which one was deleted: a row is
// named by its memory. Must not touch the page.

export interface TreeItem {
  readonly memoryId: string
  /** Undefined once redacted: such memories come last. */
  readonly path?: string | undefined
  /** What happened, or would happen, to it. */
  readonly operation?: 'created' | 'modified' | 'deleted' | undefined
}

interface RowPlace {
  /** Names the row among those of its tree. */
  readonly key: string
  readonly name: string
  /** Counted from 1, as are the position and the number of the rows next to it. */
  readonly level: number
  readonly position: number
  readonly siblings: number
}

export interface FolderRow extends RowPlace {
  readonly kind: 'folder'
  readonly isOpen: boolean
  /** Memories below it. */
  readonly memories: number
}

export interface MemoryRow<Item extends TreeItem> extends RowPlace {
  readonly kind: 'memory'
  readonly item: Item
}

export type TreeRow<Item extends TreeItem> = FolderRow | MemoryRow<Item>

/** Whether a folder, named by its path, is open. */
export type IsOpen = (key: string, level: number) => boolean

interface Folder<Item> {
  readonly folders: Map<string, Folder<Item>>
  readonly memories: Named<Item>[]
  count: number
}

interface Named<Item> {
  readonly name: string
  readonly item: Item
}

/** The rows that are seen: those in open folders. */
export function treeRows<Item extends TreeItem>(
  items: readonly Item[],
  isOpen: IsOpen,
): readonly TreeRow<Item>[] {
  const root = newFolder<Item>()
  for (const item of items) place(root, item)
  return [...rowsOf(root, '', 1, isOpen)]
}

/** The row of the folder that a row is in. */
export function parentOf(rows: readonly Pick<RowPlace, 'level'>[], index: number): number {
  const level = rows[index]?.level ?? 1
  return rows.findLastIndex((row, at) => at < index && row.level < level)
}

function newFolder<Item>(): Folder<Item> {
  return { folders: new Map(), memories: [], count: 0 }
}

function place<Item extends TreeItem>(root: Folder<Item>, item: Item): void {
  const names = item.path?.split('/').filter((name) => name !== '') ?? []
  let folder = root
  folder.count += 1
  for (const name of names.slice(0, -1)) {
    const next = folder.folders.get(name) ?? newFolder<Item>()
    folder.folders.set(name, next)
    next.count += 1
    folder = next
  }
  folder.memories.push({ name: names.at(-1) ?? item.memoryId, item })
}

function* rowsOf<Item extends TreeItem>(
  folder: Folder<Item>,
  path: string,
  level: number,
  isOpen: IsOpen,
): Generator<TreeRow<Item>, void> {
  const siblings = folder.folders.size + folder.memories.length
  let position = 0
  for (const [name, inner] of [...folder.folders].toSorted(([a], [b]) => compare(a, b))) {
    position += 1
    const key = `${path}/${name}`
    const open = isOpen(key, level)
    const { count: memories } = inner
    yield { kind: 'folder', key, name, level, position, siblings, isOpen: open, memories }
    if (open) yield* rowsOf(inner, key, level + 1, isOpen)
  }
  for (const { name, item } of folder.memories.toSorted(byName)) {
    position += 1
    yield { kind: 'memory', key: item.memoryId, name, level, position, siblings, item }
  }
}

/** Of two memories of one path, the deleted one made room for the other. */
function byName(a: Named<TreeItem>, b: Named<TreeItem>): number {
  const isUnknown = Number(a.item.path === undefined) - Number(b.item.path === undefined)
  const byRoom = Number(a.item.operation !== 'deleted') - Number(b.item.operation !== 'deleted')
  return isUnknown || compare(a.name, b.name) || byRoom
}

function compare(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

// The rows of a tree of changes: folders first, then memories, by path. A path may be that of a
// memory and of a folder at once, and that of two memories, of which one was deleted: a row is
// named by its memory. Must not touch the page.

/** What happened, or would happen, to one memory. */
export interface TreeChange {
  readonly memoryId: string
  /** Undefined once redacted: such memories come last. */
  readonly path?: string | undefined
  readonly movedFrom?: string | undefined
  readonly operation: 'created' | 'modified' | 'deleted'
  /** Whether a part of it is redacted. */
  readonly isRedacted?: boolean | undefined
  /** What else there is to say in a few words, such as `3 versions`. */
  readonly note?: string | undefined
}

interface RowPlace {
  /** Names the row among those of its tree. */
  readonly key: string
  readonly name: string
  /** Counted from 1, as are the position and the number of the rows beside it. */
  readonly level: number
  readonly position: number
  readonly siblings: number
}

export interface FolderRow extends RowPlace {
  readonly kind: 'folder'
  readonly isOpen: boolean
  /** Memories below it. */
  readonly changes: number
}

export interface MemoryRow extends RowPlace {
  readonly kind: 'memory'
  readonly change: TreeChange
}

export type ChangeRow = FolderRow | MemoryRow

interface Folder {
  readonly folders: Map<string, Folder>
  readonly memories: { readonly name: string; readonly change: TreeChange }[]
  changes: number
}

/** The rows that are seen while the folders of `closed` are closed. */
export function changeRows(
  changes: readonly TreeChange[],
  closed: ReadonlySet<string>,
): readonly ChangeRow[] {
  const root = newFolder()
  for (const change of changes) place(root, change)
  return [...rowsOf(root, '', 1, closed)]
}

/** The row of the folder that a row is in. */
export function parentOf(rows: readonly ChangeRow[], index: number): number {
  const level = rows[index]?.level ?? 1
  return rows.findLastIndex((row, at) => at < index && row.level < level)
}

function newFolder(): Folder {
  return { folders: new Map(), memories: [], changes: 0 }
}

function place(root: Folder, change: TreeChange): void {
  const names = change.path?.split('/').filter((name) => name !== '') ?? []
  let folder = root
  folder.changes += 1
  for (const name of names.slice(0, -1)) {
    const next = folder.folders.get(name) ?? newFolder()
    folder.folders.set(name, next)
    next.changes += 1
    folder = next
  }
  folder.memories.push({ name: names.at(-1) ?? change.memoryId, change })
}

function* rowsOf(
  folder: Folder,
  path: string,
  level: number,
  closed: ReadonlySet<string>,
): Generator<ChangeRow, void> {
  const siblings = folder.folders.size + folder.memories.length
  let position = 0
  for (const [name, inner] of [...folder.folders].toSorted(([a], [b]) => compare(a, b))) {
    position += 1
    const key = `${path}/${name}`
    const isOpen = !closed.has(key)
    const { changes } = inner
    yield { kind: 'folder', key, name, level, position, siblings, isOpen, changes }
    if (isOpen) yield* rowsOf(inner, key, level + 1, closed)
  }
  for (const { name, change } of folder.memories.toSorted(byName)) {
    position += 1
    yield { kind: 'memory', key: change.memoryId, name, level, position, siblings, change }
  }
}

type Named = Folder['memories'][number]

/** Of two memories of one path, the deleted one made room for the other. */
function byName(a: Named, b: Named): number {
  const isUnknown = Number(a.change.path === undefined) - Number(b.change.path === undefined)
  const byRoom = Number(a.change.operation !== 'deleted') - Number(b.change.operation !== 'deleted')
  return isUnknown || compare(a.name, b.name) || byRoom
}

function compare(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

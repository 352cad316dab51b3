// What a store should do, as a plain map of paths and a list of commits: written from the table
// "what a command becomes" (docs/ARCHITECTURE.md) and the grammar of FORMAT §5.2, with nothing of
// src/. Refuses by throwing the error code that the store has to answer with.

/** A change as data, so that fast-check can print and shrink it. */
export type PlannedChange =
  | { readonly type: 'create'; readonly path: string; readonly content: string }
  | { readonly type: 'edit'; readonly path: string; readonly content: string }
  | { readonly type: 'append'; readonly path: string; readonly text: string }
  | { readonly type: 'delete'; readonly path: string }
  | { readonly type: 'rename'; readonly path: string; readonly to: string }

export interface ModelLimits {
  readonly contentBytes: number
  readonly memories: number
}

/** One version row; `memory` is the model's own number of it. */
export interface ModelVersion {
  readonly memory: number
  readonly operation: 'created' | 'modified' | 'deleted'
  readonly path: string
  /** Undefined for a deletion. */
  readonly content: string | undefined
}

interface ModelMemory {
  readonly memory: number
  readonly content: string
}

type Files = Map<string, ModelMemory>

/** The code with which the store has to refuse. */
export class ModelRefusal extends Error {
  readonly code: string

  constructor(code: string) {
    super(code)
    this.code = code
  }
}

export class StoreModel {
  #files: Files = new Map()
  #limits: ModelLimits
  #archived = false
  #memories = 0
  /** Rows of each commit that changed memories, oldest first. */
  readonly changes: (readonly ModelVersion[])[] = []
  /** Commits of any kind, genesis among them. */
  commits = 1

  constructor(limits: ModelLimits) {
    this.#limits = limits
  }

  /** Path to content. */
  get contents(): Record<string, string> {
    return Object.fromEntries([...this.#files].map(([path, { content }]) => [path, content]))
  }

  get paths(): readonly string[] {
    return [...this.#files.keys()]
  }

  /** Bytes of all contents at or below a directory. */
  bytesBelow(directory: string): number {
    const prefix = directory === '/' ? '/' : `${directory}/`
    const below = [...this.#files].filter(([path]) => path.startsWith(prefix))
    return below.reduce((sum, [, { content }]) => sum + Buffer.byteLength(content), 0)
  }

  /** All of the changes, or none. Returns the rows that they become. */
  apply(changes: readonly PlannedChange[]): readonly ModelVersion[] {
    if (this.#archived && changes.some(({ type }) => type !== 'delete')) refuse('store_archived')
    const before = this.#files
    const after = new Map(before)
    for (const change of changes) this.#step(after, change)
    const rows = rowsBetween(before, after)
    this.#files = after
    if (rows.length > 0) {
      this.changes.push(rows)
      this.commits += 1
    }
    return rows
  }

  setLimits(limits: ModelLimits): void {
    const { contentBytes, memories } = this.#limits
    if (limits.contentBytes === contentBytes && limits.memories === memories) return
    if (this.#archived) refuse('store_archived')
    this.commits += 1
    this.#limits = limits
  }

  /** For good. */
  archive(): void {
    this.commits += 1
    this.#archived = true
  }

  #step(files: Files, change: PlannedChange): void {
    switch (change.type) {
      case 'create':
        return this.#create(files, change.path, change.content)
      case 'edit':
        return this.#edit(files, change.path, () => change.content)
      case 'append':
        return this.#append(files, change.path, change.text)
      case 'delete':
        for (const path of existing(files, change.path)) files.delete(path)
        return undefined
      case 'rename':
        return rename(files, change.path, change.to)
      default:
        throw new Error('Not a change')
    }
  }

  #create(files: Files, path: string, content: string): void {
    checkNewPath(path)
    checkFree(files, path)
    this.#checkContent(content)
    if (files.size >= this.#limits.memories) refuse('store_full')
    this.#memories += 1
    files.set(path, { memory: this.#memories, content })
  }

  #edit(files: Files, path: string, edit: (content: string) => string): void {
    checkPath(path)
    const file = files.get(path)
    if (file === undefined) return refuse('not_found')
    const content = edit(file.content)
    this.#checkContent(content)
    files.set(path, { ...file, content })
  }

  #append(files: Files, path: string, text: string): void {
    checkPath(path)
    if (!files.has(path)) return this.#create(files, path, text)
    this.#checkContent(text)
    this.#edit(files, path, (content) => linesAtEnd(content, text))
  }

  #checkContent(content: string): void {
    if (!content.isWellFormed() || content.includes('\0')) refuse('invalid_input')
    if (Buffer.byteLength(content) > this.#limits.contentBytes) refuse('content_too_large')
  }
}

/** The text begins on a line of its own, and the existing content decides how it ends. */
function linesAtEnd(content: string, text: string): string {
  if (content === '') return text
  const block = text.replace(/\n$/, '')
  return content.endsWith('\n') ? `${content}${block}\n` : `${content}\n${block}`
}

/** Whether `path` is `directory` or lies below it. */
function isAtOrBelow(path: string, directory: string): boolean {
  return path === directory || path.startsWith(`${directory}/`)
}

function rename(files: Files, path: string, to: string): void {
  if (to !== path) checkNewPath(to)
  const sources = existing(files, path)
  const ownPath = to === path || (!files.has(path) && isAtOrBelow(to, path))
  if (ownPath) refuse('path_conflict')
  const moved = sources.map((source) => {
    const target = to + source.slice(path.length)
    checkNewPath(target)
    const memory = files.get(source)
    files.delete(source)
    return [target, memory] as const
  })
  checkFree(files, to)
  for (const [target, memory] of moved) if (memory !== undefined) files.set(target, memory)
}

/** The files at or below a path. */
function existing(files: Files, path: string): readonly string[] {
  checkPath(path)
  const found = [...files.keys()].filter((each) => isAtOrBelow(each, path))
  return found.length === 0 ? refuse('not_found') : found
}

function checkFree(files: Files, path: string): void {
  for (const each of files.keys()) {
    if (isAtOrBelow(each, path) || isAtOrBelow(path, each)) refuse('path_conflict')
  }
}

/** FORMAT §5.2, as far as the generated paths go; the root cannot be named by a change. */
function checkPath(path: string): void {
  const segments = path.slice(1).split('/')
  const wrong =
    !path.startsWith('/') ||
    segments.length > 20 ||
    segments.some((segment) => ['', '.', '..'].includes(segment)) ||
    Buffer.byteLength(path) > 1024 ||
    /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/u.test(path) ||
    path === '/.anthropic-memory-store'
  if (wrong) refuse('invalid_path')
}

function checkNewPath(path: string): void {
  checkPath(path)
  if (path.normalize('NFC') !== path) refuse('invalid_path')
}

/** One row per memory that differs: the net effect of a commit. */
function rowsBetween(before: Files, after: Files): readonly ModelVersion[] {
  const old = byMemory(before)
  const now = byMemory(after)
  const rows: ModelVersion[] = []
  for (const [memory, { path }] of old) {
    if (now.has(memory)) continue
    rows.push({ memory, operation: 'deleted', path, content: undefined })
  }
  for (const [memory, file] of now) {
    const was = old.get(memory)
    if (was?.path === file.path && was.content === file.content) continue
    rows.push({ memory, operation: was === undefined ? 'created' : 'modified', ...file })
  }
  return rows
}

function byMemory(files: Files): Map<number, { path: string; content: string }> {
  return new Map([...files].map(([path, { memory, content }]) => [memory, { path, content }]))
}

function refuse(code: string): never {
  throw new ModelRefusal(code)
}

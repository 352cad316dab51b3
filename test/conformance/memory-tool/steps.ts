// The steps of the memory tool's test tables: a command with the exact answer that the model must
// get, or a check of the stored bytes. The texts are repeated here, independent of src/anthropic,
// so that a mistake there shows.

export type CommandName = 'view' | 'create' | 'str_replace' | 'insert' | 'delete' | 'rename'

export interface Call {
  readonly command: CommandName
  readonly input: unknown
  /** The answer, or with `refused` the whole content of the error result, prefix included. */
  readonly text: string | RegExp
  readonly refused: boolean
  /** An accepted write that changes nothing makes no commit. */
  readonly noop: boolean
}

/** The content at a store path; undefined if there must be none. */
export interface Look {
  readonly at: string
  readonly content: string | undefined
}

export type Step = Call | Look
export type Row = readonly [rule: string, ...steps: Step[]]

export interface Chapter {
  readonly name: string
  /** Limits of the store. */
  readonly limits?: { readonly contentBytes?: number; readonly memories?: number }
  /**
   * `root`: speaks of `/memories` itself, which no store of several is; `handlers`: inputs that
   * cannot name a command.
   */
  readonly needs?: 'root' | 'handlers'
  readonly rows: readonly Row[]
}

export function ok(command: CommandName, input: unknown, text: string | RegExp): Call {
  return { command, input, text, refused: false, noop: command === 'view' }
}

export function no(command: CommandName, input: unknown, text: string | RegExp): Call {
  return { command, input, text, refused: true, noop: true }
}

export function noop(call: Call): Call {
  return { ...call, noop: true }
}

export function content(at: string, text: string | undefined): Look {
  return { at, content: text }
}

/** `path` is in the canonical spelling of the answer. */
export function create(path: string, file_text: string = ''): Call {
  return ok('create', { path, file_text }, `File created successfully at: ${path}`)
}

export function shows(path: string, ...lines: string[]): Call {
  return ok('view', { path }, fileView(path, 1, lines))
}

export function showsRange(
  path: string,
  view_range: unknown,
  first: number,
  lines: string[],
): Call {
  return ok('view', { path, view_range }, fileView(path, first, lines))
}

/** Rows as `size path-below`, the first one the size of the directory alone. */
export function lists(path: string, size: string, ...rows: string[]): Call {
  const header =
    `Here're the files and directories up to 2 levels deep in ${path}, ` +
    'excluding hidden items and node_modules:'
  const below = rows.map((row) => row.replace(' ', `\t${path}/`))
  return ok('view', { path }, [header, `${size}\t${path}`, ...below].join('\n'))
}

export function replaces(
  path: string,
  [old_str, new_str]: readonly [string, string?],
  first: number,
  lines: readonly string[],
): Call {
  const input = new_str === undefined ? { path, old_str } : { path, old_str, new_str }
  const text =
    'The memory file has been edited. Here is the snippet showing the change (with line numbers):\n'
  return ok('str_replace', input, text + numbered(first, lines))
}

export function inserts(path: string, insert_line: number, insert_text: string): Call {
  return ok('insert', { path, insert_line, insert_text }, `The file ${path} has been edited.`)
}

export function deletes(path: string): Call {
  return ok('delete', { path }, `Successfully deleted ${path}`)
}

export function renames(old_path: string, new_path: string): Call {
  const text = `Successfully renamed ${old_path} to ${new_path}`
  return ok('rename', { old_path, new_path }, text)
}

export function missing(path: string): Call {
  const text = `The path ${path} does not exist. Please provide a valid path.`
  return no('view', { path }, text)
}

export function numbered(first: number, lines: readonly string[]): string {
  return lines.map((line, index) => `${String(first + index).padStart(6, ' ')}\t${line}`).join('\n')
}

function fileView(path: string, first: number, lines: readonly string[]): string {
  return `Here's the content of ${path} with line numbers:\n${numbered(first, lines)}`
}

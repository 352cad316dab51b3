// The elements of a transcript: inputs of the memory tool as an agent sends them, each with its
// expected outcome. A short notation that keeps the transcripts readable; no behaviour.

export interface Input {
  readonly command: 'view' | 'create' | 'str_replace' | 'insert' | 'delete' | 'rename'
  readonly path?: string
  readonly view_range?: readonly [number, number]
  readonly file_text?: string
  readonly old_str?: string
  readonly new_str?: string
  readonly insert_line?: number
  readonly insert_text?: string
  readonly old_path?: string
  readonly new_path?: string
}

export interface Call {
  readonly input: Input
  /** `answers`: no commit; `commits`: exactly one; `refused`: an error, and no commit. */
  readonly outcome: 'answers' | 'commits' | 'refused'
  /** A text that the answer must contain. */
  readonly saying?: string
}

export interface Session {
  /** Recorded with every change. */
  readonly id: string
  /** What the user asked for. */
  readonly request: string
  readonly calls: readonly Call[]
}

export function view(path: string, range?: readonly [number, number]): Call {
  const input = { command: 'view', path } as const
  return {
    input: range === undefined ? input : { ...input, view_range: range },
    outcome: 'answers',
  }
}

export function create(path: string, ...lines: readonly string[]): Call {
  return { input: { command: 'create', path, file_text: textOf(lines) }, outcome: 'commits' }
}

/** Without `after` the text is removed. */
export function replace(path: string, before: string, after?: string): Call {
  const input = { command: 'str_replace', path, old_str: before } as const
  return {
    input: after === undefined ? input : { ...input, new_str: after },
    outcome: 'commits',
  }
}

export function insert(path: string, line: number, ...lines: readonly string[]): Call {
  const input = { command: 'insert', path, insert_line: line, insert_text: textOf(lines) } as const
  return { input, outcome: 'commits' }
}

export function remove(path: string): Call {
  return { input: { command: 'delete', path }, outcome: 'commits' }
}

export function rename(from: string, to: string): Call {
  return { input: { command: 'rename', old_path: from, new_path: to }, outcome: 'commits' }
}

/** A mistake of the agent: the store must refuse it with this text. */
export function refused(saying: string, { input }: Call): Call {
  return { input, outcome: 'refused', saying }
}

/** A change that changes nothing: it succeeds, and makes no commit. */
export function unchanged({ input }: Call): Call {
  return { input, outcome: 'answers' }
}

function textOf(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('')
}

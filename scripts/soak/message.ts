// The messages between the soak and the processes that hold its clones.

export type ToolCommand =
  | { readonly command: 'view'; readonly path: string }
  | { readonly command: 'create'; readonly path: string; readonly file_text: string }
  | {
      readonly command: 'str_replace'
      readonly path: string
      readonly old_str: string
      readonly new_str: string
    }
  | {
      readonly command: 'insert'
      readonly path: string
      readonly insert_line: number
      readonly insert_text: string
    }
  | { readonly command: 'delete'; readonly path: string }
  | { readonly command: 'rename'; readonly old_path: string; readonly new_path: string }

export type Request =
  /** A call of the memory tool; answered once it is durable. */
  | { readonly type: 'tool'; readonly input: ToolCommand }
  | { readonly type: 'versions'; readonly path: string }
  | { readonly type: 'sync' }
  /** Erases every version with this text in it. The answer is their number. */
  | { readonly type: 'redact'; readonly text: string }
  /** The answer is path and SHA-256 of all contents. */
  | { readonly type: 'contents' }
  /** The text of a memory; undefined if there is none. */
  | { readonly type: 'read'; readonly path: string }
  /** Verifies everything and searches for redacted versions. */
  | { readonly type: 'prove'; readonly text: string }
  | { readonly type: 'close' }

export interface Proof {
  readonly head: string
  readonly versions: number
  /** Versions that a redaction should have erased and that still exist. */
  readonly residues: number
}

export interface Answers {
  readonly tool: unknown
  readonly versions: number
  readonly sync: string
  readonly redact: number
  readonly contents: readonly (readonly [path: string, hash: string])[]
  readonly read: string | undefined
  readonly prove: Proof
  readonly close: undefined
}

export interface Ask {
  readonly id: number
  readonly request: Request
}

/** Bytes and milliseconds of the last second, except for `stallUsual`. */
export interface Pulse {
  readonly rss: number
  readonly heap: number
  /** The longest block of the event loop, and the 99.9th percentile since the start. */
  readonly stallMax: number
  readonly stallUsual: number
}

export type Message =
  | { readonly type: 'open' }
  | { readonly type: 'pulse'; readonly pulse: Pulse }
  | { readonly type: 'answer'; readonly id: number; readonly value: unknown }
  /** `code` of a StoreError, undefined for another failure. */
  | {
      readonly type: 'failed'
      readonly id: number
      readonly code: string | undefined
      readonly text: string
    }

// The memory of a chat: runs the commands of the model, one after the other, and finds the versions
// that each has made. What the model wrote as input is checked by the memory tool alone.

import { type MemoryTool, memoryTool } from '../../anthropic/memory-tool.ts'
import type { Access } from '../../api/actions.ts'
import type { Version } from '../../store/history/versions.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import { countChangedLines, type TextChange } from '../patch-text.ts'
import { findVersionChange } from '../version-patch.ts'

export interface MadeVersion {
  readonly version: Version
  /** Undefined where counting would take long. */
  readonly lines: { readonly added: number; readonly removed: number } | undefined
}

/** A command of the model, and what came of it. */
export interface CommandRun {
  readonly input: unknown
  /** What the model reads. */
  readonly content: string
  readonly isError: boolean
  /** In the order in which they were made. */
  readonly made: readonly MadeVersion[]
}

/** A command that removes a directory makes a version for each memory in it. */
const COUNTED_MAX = 20

export class ChatMemory {
  readonly #store: MemoryStore
  readonly #session: string
  readonly #tool: MemoryTool
  /** The newest version of the store, whoever made it, at the last look. */
  #newest: string | undefined
  #hasWritten = false

  private constructor(store: MemoryStore, session: string, access: Access) {
    this.#store = store
    this.#session = session
    this.#tool = memoryTool(store, { session, access, ToolError: Error })
  }

  /** Throws `invalid_input` if the session has no valid name. */
  static async open(store: MemoryStore, session: string, access: Access): Promise<ChatMemory> {
    const memory = new ChatMemory(store, session, access)
    memory.#newest = (await store.history.versions({ limit: 1 })).data[0]?.versionId
    return memory
  }

  get hasWritten(): boolean {
    return this.#hasWritten
  }

  /** Without what runs it. */
  get definition(): Pick<MemoryTool, 'type' | 'name'> {
    const { type, name } = this.#tool
    return { type, name }
  }

  async run(input: unknown): Promise<CommandRun> {
    const { content, isError } = await this.#tool.run(input).then(
      (answer) => ({ content: answer, isError: false }),
      (error: unknown) => ({ content: messageOf(error), isError: true }),
    )
    const made: MadeVersion[] = []
    for (const version of await this.#newVersions()) {
      const isCounted = made.length < COUNTED_MAX
      made.push({ version, lines: isCounted ? await this.#linesOf(version) : undefined })
    }
    return { input, content, isError, made }
  }

  /** Those of the session since the last look, the oldest first. Reads what is new alone. */
  async #newVersions(): Promise<readonly Version[]> {
    const found: Version[] = []
    for await (const version of this.#store.history.versions()) {
      if (version.versionId === this.#newest) break
      found.push(version)
    }
    this.#newest = found[0]?.versionId ?? this.#newest
    const own = found.filter(({ session }) => session === this.#session)
    this.#hasWritten ||= own.length > 0
    return own.toReversed()
  }

  /** Undefined if another process has redacted it meanwhile. */
  async #linesOf(version: Version): Promise<MadeVersion['lines']> {
    const change: TextChange | undefined = await findVersionChange(this.#store, version)
    return change === undefined ? undefined : countChangedLines(change)
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : 'Error: The command failed'
}

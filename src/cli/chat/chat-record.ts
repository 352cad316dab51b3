// Keeps an answer of a chat for --json.

import type { CommandRun } from './chat-memory.ts'
import type { ChatListener } from './conversation.ts'

export class ChatRecord implements ChatListener {
  readonly #commands: CommandRun[] = []
  #text = ''

  text(piece: string): void {
    this.#text += piece
  }

  command(run: CommandRun): void {
    this.end()
    this.#commands.push(run)
  }

  /** Texts before and after a command are on lines of their own. */
  end(): void {
    if (this.#text !== '' && !this.#text.endsWith('\n')) this.#text += '\n'
  }

  get json(): Readonly<Record<string, unknown>> {
    return { text: this.#text, commands: this.#commands.map(commandJson) }
  }
}

function commandJson({ input, content, isError, made }: CommandRun): unknown {
  const versions = made.map(({ version, lines }) => ({
    id: version.versionId,
    operation: version.operation,
    path: version.path ?? null,
    moved_from: version.movedFrom ?? null,
    added_lines: lines?.added ?? null,
    removed_lines: lines?.removed ?? null,
  }))
  return { input, content, is_error: isError, versions }
}

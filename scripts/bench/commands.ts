// The commands of the memory tool that one contender is given, as a seed chooses them: on memories
// in nested directories, of log-normal sizes, in the shares that an agent has. The same for each
// contender.

import type { BetaMemoryTool20250818Command } from '@anthropic-ai/sdk/resources/beta'
import { type Note, noteSize, noteText, revisionLine, seededChoice } from './workload.ts'

export type Command = BetaMemoryTool20250818Command
export type CommandName = Command['command']

/** Commands in a hundred; creations and deletions keep the number of memories nearly the same. */
const shares: Readonly<Record<CommandName, number>> = {
  view: 40,
  str_replace: 30,
  create: 12,
  insert: 8,
  delete: 6,
  rename: 4,
}

export const changes: readonly CommandName[] = [
  'create',
  'str_replace',
  'insert',
  'delete',
  'rename',
]

const directoriesEach = 8
const depthMax = 4

/** A new memory. */
export interface NewNote {
  readonly path: string
  readonly text: string
}

export class Commands {
  readonly #choose: (bound: number) => number = seededChoice('commands')
  readonly #notes: Note[]
  /** Paths of the burst that is being made. */
  readonly #touched = new Set<string>()
  #created = 0

  /** Notes that the contender has already. */
  constructor(existing: readonly Note[] = []) {
    this.#notes = [...existing]
  }

  /** Memories to begin with. */
  *fill(count: number): Generator<NewNote> {
    for (let done = 0; done < count; done += 1) yield this.#create()
  }

  next(): Command {
    this.#touched.clear()
    return this.#command(this.#name(Object.keys(shares)))
  }

  /** Changes of as many different memories. */
  burst(count: number): readonly Command[] {
    this.#touched.clear()
    return Array.from({ length: count }, () => this.#command(this.#name(changes)))
  }

  #name(names: readonly string[]): CommandName {
    const able = commandNames.filter((name) => names.includes(name))
    let left = this.#choose(able.reduce((sum, name) => sum + shares[name], 0))
    return able.find((name) => (left -= shares[name]) < 0) ?? 'view'
  }

  #command(command: CommandName): Command {
    if (command === 'create') {
      const { path, text } = this.#create()
      return { command, path: toolPath(path), file_text: text }
    }
    const index = this.#pick()
    const { path, revision } = this.#notes[index] ?? { path: '', revision: 0 }
    this.#touched.add(path)
    return this.#changeOf(command, index, { path, revision })
  }

  #changeOf(
    command: Exclude<CommandName, 'create'>,
    index: number,
    { path, revision }: Note,
  ): Command {
    switch (command) {
      case 'str_replace': {
        this.#notes[index] = { path, revision: revision + 1 }
        const [old_str, new_str] = [revisionLine(revision), revisionLine(revision + 1)]
        return { command, path: toolPath(path), old_str, new_str }
      }
      case 'insert': {
        const insert_text = noteText(this.#choose, 64).slice(revisionLine(0).length + 1)
        return { command, path: toolPath(path), insert_line: 1, insert_text }
      }
      case 'rename': {
        const to = this.#newPath()
        this.#touched.add(to)
        this.#notes[index] = { path: to, revision }
        return { command, old_path: toolPath(path), new_path: toolPath(to) }
      }
      case 'delete':
        this.#notes[index] = this.#notes.at(-1) ?? { path, revision }
        this.#notes.pop()
        return { command, path: toolPath(path) }
      case 'view':
      default:
        return { command, path: toolPath(path) }
    }
  }

  #create(): NewNote {
    const path = this.#newPath()
    this.#touched.add(path)
    this.#notes.push({ path, revision: 0 })
    return { path, text: noteText(this.#choose, noteSize(this.#choose)) }
  }

  #pick(): number {
    for (;;) {
      const index = this.#choose(this.#notes.length)
      if (!this.#touched.has(this.#notes[index]?.path ?? '')) return index
    }
  }

  /** One to four directories deep. */
  #newPath(): string {
    const depth = 1 + this.#choose(depthMax)
    const directories = Array.from({ length: depth }, () => `area-${this.#choose(directoriesEach)}`)
    this.#created += 1
    return [...directories, `note-${this.#created}.md`].join('/')
  }
}

const commandNames: readonly CommandName[] = ['view', ...changes]

const root = '/memories/'

function toolPath(path: string): string {
  return root + path
}

/** The path below the root, as a contender without a memory tool has it. */
export function notePath(path: string): string {
  return path.slice(root.length)
}

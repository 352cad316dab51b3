// What takes part in a comparison of commands: a keeper of notes.

import { type Command, type NewNote, notePath } from '../commands.ts'

/** Each change is on disk when `run` ends. */
export interface Keeper {
  /** Takes many new notes, off the clock. */
  fill(notes: Iterable<NewNote>): unknown
  run(command: Command): unknown
  /** Finishes background work. */
  settle?(): Promise<void>
  close(): unknown
}

export interface KeeperKind {
  readonly name: string
  /** In an empty directory. Throws if something must be installed first. */
  start(directory: string): Promise<Keeper>
}

/** Each change is durable when it returns, or when the promise does that it returns. */
export interface Notes {
  read(path: string): string
  write(path: string, text: string): unknown
  remove(path: string): unknown
  move(from: string, to: string): unknown
}

export function runOn(notes: Notes, command: Command): unknown {
  switch (command.command) {
    case 'create':
      return notes.write(notePath(command.path), command.file_text)
    case 'str_replace': {
      const path = notePath(command.path)
      return notes.write(path, notes.read(path).replace(command.old_str, command.new_str))
    }
    case 'insert': {
      const path = notePath(command.path)
      const lines = notes.read(path).split('\n')
      lines.splice(command.insert_line, 0, command.insert_text.replace(/\n$/, ''))
      return notes.write(path, lines.join('\n'))
    }
    case 'delete':
      return notes.remove(notePath(command.path))
    case 'rename':
      return notes.move(notePath(command.old_path), notePath(command.new_path))
    case 'view':
    default:
      return notes.read(notePath(command.path))
  }
}

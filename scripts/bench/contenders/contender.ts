// What takes part in a comparison of commands: something that keeps notes.

import type { Command, NewNote } from '../commands.ts'

/** A store of notes. What it answers is on disk, as far as it gives that promise at all. */
export interface Contender {
  /** Takes many new notes, off the clock. */
  fill(notes: Iterable<NewNote>): unknown
  run(command: Command): unknown
  /** Finishes what it does in the background, so that nobody else is charged with it. */
  settle?(): Promise<void>
  close(): unknown
}

export interface ContenderKind {
  readonly name: string
  /** A slow one is given fewer commands in a turn. */
  readonly pace: 'fast' | 'slow'
  /** Takes part in each `every`th round only. */
  readonly every: number
  /** What a reader must know to compare fairly; empty if nothing. */
  readonly remark: string
  /** Throws, saying what to install, if it cannot take part on this machine. */
  start(directory: string): Promise<Contender>
}

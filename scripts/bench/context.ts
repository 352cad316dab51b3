// The context of every section of a run.

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type History, makeHistory } from './long-history.ts'
import type { Scale } from './options.ts'

export interface Context {
  readonly scale: Scale
  /** The directory of the npm peer. */
  readonly peers: string
  /** A new directory below the scratch directory. */
  directory(name: string): string
  /** The long history, made at the first call and never to be changed. */
  history(): Promise<History>
  /** Prints the current step to standard error. */
  log(text: string): void
}

export function createContext(scale: Scale, scratch: string, peers: string | undefined): Context {
  let history: Promise<History> | undefined
  const directory = (name: string): string => {
    const path = join(scratch, name)
    mkdirSync(path, { recursive: true })
    return path
  }
  return {
    scale,
    peers: peers ?? join(scratch, 'peers'),
    directory,
    history() {
      if (history === undefined) log(`making a history of ${scale.long.commits} commits`)
      return (history ??= makeHistory(directory('history'), scale.long))
    },
    log,
  }
}

function log(text: string): void {
  console.error(`bench: ${text}`)
}

// The context of every section of a run.

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { installSqlite, type OpenDatabase } from './contenders/sqlite.ts'
import type { Scale } from './options.ts'

export interface RunContext {
  readonly scale: Scale
  /** A new directory below the scratch directory. */
  directory(name: string): string
  /** Installs the package at the first call; throws at each if that fails. */
  sqlite(): OpenDatabase
  /** Prints the current step to standard error. */
  log(text: string): void
}

export function runContext(scale: Scale, scratch: string, peers: string | undefined): RunContext {
  let installed: { readonly open: OpenDatabase } | { readonly error: unknown } | undefined
  return {
    scale,
    directory(name) {
      const path = join(scratch, name)
      mkdirSync(path, { recursive: true })
      return path
    },
    sqlite() {
      installed ??= install(peers ?? join(scratch, 'peers'))
      if ('open' in installed) return installed.open
      throw installed.error
    },
    log,
  }
}

/** Remembers a failure like a success, since it takes minutes too. */
function install(directory: string): { open: OpenDatabase } | { error: unknown } {
  log('installing the npm peer, which may compile for some minutes')
  try {
    return { open: installSqlite(directory) }
  } catch (error) {
    return { error }
  }
}

function log(text: string): void {
  console.error(`bench: ${text}`)
}

// The frozen store of v1/ and what it must read as in every later release, and a store of a layout
// that was never released.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { vectorDirectory } from './vector.ts'

export interface FrozenStore {
  readonly storeId: string
  /** Identities, as their files have them. */
  readonly owner: string
  readonly writer: string
  readonly reader: string
  readonly auditor: string
  readonly passphrase: string
  readonly recoveryKey: string
  readonly commits: number
  /** Of the head, separated by spaces. */
  readonly words: string
  /** Path to content. */
  readonly memories: Readonly<Record<string, string>>
}

export const frozenDirectory: string = join(vectorDirectory, 'frozen')
export const unreleasedDirectory: string = fileURLToPath(new URL('unreleased', import.meta.url))

export function readFrozenStore(): FrozenStore {
  const frozen: FrozenStore = JSON.parse(readFileSync(join(frozenDirectory, 'store.json'), 'utf8'))
  return frozen
}

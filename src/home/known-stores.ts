// Which store this machine has had at which directory, kept outside of it: a store whose directory
// has vanished can be named. No more than a hint: a lost or wrong entry changes no command.

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { toHex, utf8 } from '../bytes.ts'
import { hash256 } from '../crypto/digest.ts'
import { StoreError } from '../errors.ts'
import { errnoOf, findTextFile, writeSecretFile } from './files.ts'
import type { DefaultPlaces } from './places.ts'

type Places = Pick<DefaultPlaces, 'directory' | 'stateDirectory'>

/** The id of the store that was last opened at a directory. libsodium must be loaded. */
export function findKnownStore(places: Places): string | undefined {
  try {
    // A pipe in its place is refused without waiting.
    const text = findTextFile('the note of a store', fileOf(places), false) ?? ''
    return /^(memstore_[0-7][0-9a-hjkmnp-tv-z]{25})\n$/.exec(text)?.[1]
  } catch (error) {
    if (error instanceof StoreError) return undefined
    throw error
  }
}

/** Remembers it. */
export function noteKnownStore(places: Places, storeId: string): void {
  if (findKnownStore(places) === storeId) return
  const file = fileOf(places)
  try {
    rmSync(file, { force: true })
    writeSecretFile('the note of a store', file, `${storeId}\n`)
  } catch (error) {
    // A state directory that is full or read-only, or another process that was first.
    if (!(error instanceof StoreError) && errnoOf(error) === undefined) throw error
  }
}

/** Named by a hash, since a path may be longer than a name can be. */
function fileOf({ directory, stateDirectory }: Places): string {
  return join(stateDirectory, 'places', toHex(hash256(utf8(directory))))
}

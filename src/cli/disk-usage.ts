// How much of the disk the files of a store take. Looks at sizes only, and follows no links.

import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Environment } from './environment.ts'

/** The directory of the store's caches. */
export function cacheDirectory({ storeDirectory }: Environment): string {
  return join(storeDirectory, 'gitlocket', 'cache')
}

export function cacheBytes(environment: Environment): number {
  return diskUsage(cacheDirectory(environment))
}

/** Bytes of all files below a directory; 0 if it does not exist. */
export function diskUsage(directory: string): number {
  if (lstatSync(directory, { throwIfNoEntry: false }) === undefined) return 0
  const names = readdirSync(directory, { recursive: true, encoding: 'utf8' })
  const sizes = names.map((name) => {
    const found = lstatSync(join(directory, name), { throwIfNoEntry: false })
    return found?.isFile() === true ? found.size : 0
  })
  return sizes.reduce((sum, size) => sum + size, 0)
}

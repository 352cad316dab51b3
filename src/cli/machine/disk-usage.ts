// What files a directory has: their size on the disk, and special files. Looks at
// status only, opens nothing, and follows no links.

import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Environment } from '../call/environment.ts'

/** The directory of the store's caches. */
export function cacheDirectory({ storeDirectory }: Environment): string {
  return join(storeDirectory, 'gitlocket', 'cache')
}

export function cacheBytes(environment: Environment): number {
  return diskUsage(cacheDirectory(environment))
}

/** Links, pipes, devices and foreign sockets in a store: git follows them, or waits for ever. */
export function irregularFiles({ storeDirectory }: Environment): readonly string[] {
  if (lstatSync(storeDirectory, { throwIfNoEntry: false }) === undefined) return []
  const names = readdirSync(storeDirectory, { recursive: true, encoding: 'utf8' })
  return names.filter((name) => {
    const found = lstatSync(join(storeDirectory, name), { throwIfNoEntry: false })
    // A process that has the store open listens there.
    if (found === undefined || /^gitlocket.owner\.[0-9a-f.]+sock(?:\.new)?$/.test(name))
      return false
    return !found.isFile() && !found.isDirectory()
  })
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

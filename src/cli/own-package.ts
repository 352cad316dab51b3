// This package as it is installed: its version, the file that starts the command line, and the
// page of the console. All are
// found from this module's place, so src/cli, dist/cli and dist/command, where the bundle is, must
// be equally deep.

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = new URL('../../', import.meta.url)

/** What `gitlocket` on the PATH links to. */
export const programFile: string = fileURLToPath(new URL('src/bin/gitlocket.cjs', root))

/** The page of the console, as it is built; with a slash at its end. */
export const pageDirectory: URL = new URL('dist/console/client/', root)

/** The version in its package.json. */
export function packageVersion(): string {
  const text = readFileSync(new URL('package.json', root), 'utf8')
  const manifest: unknown = JSON.parse(text)
  const isManifest = typeof manifest === 'object' && manifest !== null && 'version' in manifest
  return isManifest ? String(manifest.version) : 'unknown'
}

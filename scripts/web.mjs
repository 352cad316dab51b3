// A step of `npm run build`: bundles src/web/web.ts with all that it needs into dist/web, for
// runtimes without Node.

import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { licenceTexts } from './licences.mjs'
import { bundleForWeb } from './web-bundle.mjs'
import { libsodium } from './web-sodium.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const output = join(root, 'dist', 'web')
const entry = join(root, 'src/web/web.ts')

// The compiler's modules: only their declarations are used.
for (const name of readdirSync(output, { recursive: true })) {
  if (/\.(?:js|wasm)$/.test(name)) rmSync(join(output, name))
}
const bundled = await bundleForWeb(
  `import { openRemote as open } from '${entry}'
  export * from '${entry}'
  export const openRemote = async (options) => {
    await begin()
    return open(options)
  }`,
  output,
)
writeFileSync(join(output, 'LICENSES.txt'), licenceTexts([...bundled, libsodium]))

// Where the compiled module of a worker thread is, if it is there: in a bundle it is not, and the
// work is done in the thread that has it. Workers run from dist/ in the product and in tests alike,
// because Node runs no TypeScript there.

import { existsSync } from 'node:fs'

/**
 * The module `name` (without extension) beside the caller, whose `import.meta.url` is `moduleUrl`:
 * undefined if there is no such file. A caller that runs from src/, as under the test runner, gets
 * the module of that place in dist/.
 */
export function findWorker(moduleUrl: string | undefined, name: string): URL | undefined {
  // Bundles of CommonJS have no such address.
  if (moduleUrl?.startsWith('file:') !== true) return undefined
  const compiled = moduleUrl.endsWith('.ts') ? fromSourceToOutput(moduleUrl) : moduleUrl
  const found = new URL(`./${name}.js`, compiled)
  return existsSync(found) ? found : undefined
}

/** The last `/src/`: a directory further up may have the same name. */
function fromSourceToOutput(moduleUrl: string): string {
  return moduleUrl.replace(/\/src\/(?!.*\/src\/)/, '/dist/')
}

// Finds the compiled module of a worker thread, and starts it. In the bundle of a program that uses
// the library there are no such files, and the caller does without them: most do the work in their
// own thread. The bundle of the command line has them next to it. Workers run from dist/, also in
// tests, because Node runs no TypeScript in them.

import { existsSync } from 'node:fs'
import { Worker, type WorkerOptions } from 'node:worker_threads'

/**
 * The URL of the module `name` (without extension) in the directory of the caller, whose
 * `import.meta.url` is `moduleUrl`; undefined if there is no such file. A caller that runs from
 * src/, as in tests, gets the module in dist/.
 */
export function findWorker(moduleUrl: string | undefined, name: string): URL | undefined {
  // Many bundles in CommonJS have no `import.meta.url`.
  if (moduleUrl?.startsWith('file:') !== true) return undefined
  const compiled = moduleUrl.endsWith('.ts') ? fromSourceToOutput(moduleUrl) : moduleUrl
  const extension = compiled.endsWith('.cjs') ? 'cjs' : 'js'
  const found = new URL(`./${name}.${extension}`, compiled)
  return existsSync(found) ? found : undefined
}

/**
 * Without the options that Node was started with, which a thread would inherit: `--input-type` of
 * `node --eval` keeps it from running a file, and what `--import` names is not meant for it.
 */
export function startWorker(entry: string | URL, options?: WorkerOptions): Worker {
  return new Worker(entry, { ...options, execArgv: [] })
}

/** Replaces the last `/src/`: a parent directory may have the same name. */
function fromSourceToOutput(moduleUrl: string): string {
  return moduleUrl.replace(/\/src\/(?!.*\/src\/)/, '/dist/')
}

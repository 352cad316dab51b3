// Where the compiled module of a worker thread is. Workers run from dist/ in the product and in
// tests alike, because Node runs no TypeScript there.

/**
 * The module `name` (without extension) beside the caller, whose `import.meta.url` is `moduleUrl`.
 * A caller that runs from src/, as under the test runner, gets the module of that place in dist/.
 */
export function workerUrl(moduleUrl: string, name: string): URL {
  const compiled = moduleUrl.endsWith('.ts') ? fromSourceToOutput(moduleUrl) : moduleUrl
  return new URL(`./${name}.js`, compiled)
}

/** The last `/src/`: a directory further up may have the same name. */
function fromSourceToOutput(moduleUrl: string): string {
  return moduleUrl.replace(/\/src\/(?!.*\/src\/)/, '/dist/')
}

// Runs once before all tests: compiles src/ to dist/, which worker threads and child processes load
// (Node 20 runs no TypeScript), bundles the command line, the web and the page of the console,
// chooses the place of temporary directories, and prints the seed. A type error does not stop the
// tests, since tsc still emits; `npm run check` and `npm ci` refuse it.

import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { full, seed } from './seed.ts'
import { useTemporaryRoot } from './temporary-root.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const source = join(root, 'src')
const bundlers = ['bundle.mjs', 'web.mjs', 'console.mjs'].map((name) => join(root, 'scripts', name))
/** The page of the console and the web, in both: no modules of Node.js, bundled. */
const page = join('console', 'client')
const bundled = [page, 'web'].map((name) => join(name, '/'))
const output = join(root, 'dist')
// Its time is when the last compilation began, here or in `npm run build`, so that an edit during
// it is treated as newer. Not below node_modules, which clones of the repository may share.
const stamp = join(root, 'build', 'compiled')

/** Returns the work to do after all tests. */
export function setup(): () => void {
  console.log(`seed ${seed}${full ? ', full runs' : ''} (SEED=n and FULL=1 change that)`)
  if (process.env['REBUILD'] === '1' || isStale()) compile()
  removeOrphans()
  return useTemporaryRoot()
}

function isStale(): boolean {
  const builtAt = modifiedAt(stamp)
  const inputs = ['', ...walk(source)]
  if (inputs.some((name) => modifiedAt(join(source, name)) >= builtAt)) return true
  if (bundlers.some((bundler) => modifiedAt(bundler) >= builtAt)) return true
  return ['command/main.cjs', 'web/web.js', `${page}/index.html`, ...modules()].some(
    (name) => modifiedAt(join(output, name)) === 0,
  )
}

function compile(): void {
  const start = new Date()
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  const { status, stdout } = spawnSync(process.execPath, [tsc, '-p', source], { encoding: 'utf8' })
  if (status !== 0) console.error(stdout)
  for (const bundler of bundlers) execFileSync(process.execPath, [bundler], { stdio: 'inherit' })
  mkdirSync(dirname(stamp), { recursive: true })
  writeFileSync(stamp, '')
  utimesSync(stamp, start, start)
}

/** What a deleted or renamed source once compiled to must keep no test alive, nor be packed. */
function removeOrphans(): void {
  const kept = new Set(modules())
  for (const name of walk(output)) {
    const module = name.replace(/(?:\.d\.ts|\.js)$/, '.js')
    const isOurs = module.endsWith('.js') && !isBundled(name)
    if (isOurs && !kept.has(module)) rmSync(join(output, name))
  }
}

function isBundled(name: string): boolean {
  return bundled.some((folder) => name.startsWith(folder))
}

function modules(): string[] {
  return walk(source)
    .filter((name) => name.endsWith('.ts') && !isBundled(name))
    .map((name) => name.replace(/\.ts$/, '.js'))
}

/** Names of files and directories below `directory`, relative to it; none if it is absent. */
function walk(directory: string): string[] {
  if (modifiedAt(directory) === 0) return []
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
}

/** Milliseconds since 1970, or 0 if there is no such file. */
function modifiedAt(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
}

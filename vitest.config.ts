// How the tests run. Three variables turn them: FULL=1 multiplies the runs of property and fault
// tests, SEED replays their random choices, REBUILD=1 compiles dist/ even if it looks fresh.
// REPORT names a file for a JSON report beside the printed one; `.ci/run` counts from it. MUTANT is
// the deliberate defect of one run of `npm run mutants`.
// GITS names the directory where `.ci/gits.sh` has put the gits of other Debian suites.

import { availableParallelism } from 'node:os'
import { env } from 'node:process'
import { defineConfig } from 'vitest/config'
import { mutantPlugins } from './test/support/mutant.ts'
import { patience } from './test/support/patience.ts'

const minute = 60_000
const full = env['FULL'] === '1'
const report = env['REPORT']

/** Files whose tests start processes all the time: to fork costs more the more memory there is. */
const forking = ['test/e2e/**/*.test.ts', 'test/fault/**/*.test.ts', 'test/interop/**/*.test.ts']

/** Files that replace a module of the product, which another file may have loaded before. */
const mocking = [
  'test/attack/planted-journals.test.ts',
  'test/attack/salvage.test.ts',
  'test/attack/web-redaction.test.ts',
  'test/unit/platform/schema.test.ts',
]

const plugins = mutantPlugins()
const common = {
  // Processes: signals, umask and the current directory belong to the process, and the workers that
  // the product starts are then not workers of a worker.
  pool: 'forks' as const,
  // A process keeps its modules from one file to the next: to load and compile them anew costs half
  // a second. A file puts back what it changes of its process.
  isolate: false,
  // What is compiled needs no compiler.
  setupFiles: ['test/support/libsodium.ts'],
  server: { deps: { external: [/\/dist\//] } },
  // Only what hangs is meant: a busy machine takes many times as long as a quiet one.
  testTimeout: full ? 30 * minute : 5 * minute,
  expect: { poll: patience },
  hookTimeout: full ? 30 * minute : 5 * minute,
}

export default defineConfig({
  test: {
    tags: [
      {
        name: 'slow',
        description:
          'Takes a quarter of a second, or is of a file that takes more than one: left out ' +
          'of `npm test`, run at every landing',
      },
    ],
    globalSetup: ['test/support/global-setup.ts'],
    projects: [
      { plugins, test: { ...common, name: 'forking', include: forking } },
      {
        plugins,
        test: {
          ...common,
          name: 'plain',
          include: ['test/**/*.test.ts'],
          exclude: [...forking, ...mocking],
        },
      },
      { plugins, test: { ...common, name: 'mocking', include: mocking, isolate: true } },
    ],
    // By default one core is left idle, of which there may be two.
    maxWorkers: availableParallelism(),
    reporters: report === undefined ? ['default'] : ['default', 'json'],
    ...(report === undefined ? {} : { outputFile: { json: report } }),
  },
})

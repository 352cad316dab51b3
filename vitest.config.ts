// How the tests run. Three variables turn them: FULL=1 multiplies the runs of property and fault
// tests, SEED replays their random choices, REBUILD=1 compiles dist/ even if it looks fresh.
// REPORT names a file for a JSON report beside the printed one; `.ci/run` counts from it.

import { availableParallelism } from 'node:os'
import { env } from 'node:process'
import { defineConfig } from 'vitest/config'

const minute = 60_000
const full = env['FULL'] === '1'
const report = env['REPORT']

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    // A process per file: signals, umask and the current directory belong to the process, and the
    // workers that the product starts are then not workers of a worker.
    pool: 'forks',
    // By default one core is left idle, of which there may be two.
    maxWorkers: availableParallelism(),
    testTimeout: full ? 30 * minute : minute,
    hookTimeout: full ? 30 * minute : minute,
    reporters: report === undefined ? ['default'] : ['default', 'json'],
    ...(report === undefined ? {} : { outputFile: { json: report } }),
  },
})

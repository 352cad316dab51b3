// `npm run vectors`: makes the test vectors of format 1 if there are none. They are frozen: once
// released, a file of test/vectors/v1 never changes, and this refuses to overwrite it. The
// makers are TypeScript in test/vectors/make, so vitest runs them.

import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

if (existsSync(`${root}/test/vectors/v1`)) {
  console.error('The vectors of format 1 are frozen: test/vectors/v1 exists')
  process.exitCode = 1
} else {
  const vitest = `${root}/node_modules/vitest/vitest.mjs`
  const { status } = spawnSync(process.execPath, [vitest, 'run', 'test/vectors/vectors.test.ts'], {
    cwd: root,
    env: { ...process.env, WRITE_VECTORS: '1' },
    stdio: 'inherit',
  })
  process.exitCode = status ?? 1
}

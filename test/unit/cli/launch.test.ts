// Where a program must not be set up from: caches that package managers clear.

import { describe, expect, test } from 'vitest'
import { checkIsInstalled } from '../../../src/cli/setup/clients.ts'

const file = 'node_modules/gitlocket/src/bin/gitlocket.cjs'

describe('a program in the cache of', () => {
  test.each([
    ['npx', `/home/a/.npm/_npx/0f1e/${file}`],
    ['pnpm dlx', `/home/a/.cache/pnpm/dlx/abc123/${file}`],
    ['pnpm dlx', `/home/a/.cache/pnpm/dlx/abc/18f-1a/node_modules/.pnpm/gitlocket@1.0.0/${file}`],
    ['pnpm dlx', `/home/a/.local/share/pnpm/store/v3/tmp/dlx-4711/${file}`],
    ['pnpm dlx', `/Users/a/Library/Caches/pnpm/dlx/abc123/${file}`],
    ['yarn dlx', '/home/a/.yarn/berry/cache/gitlocket-npm-1.0.0.zip/gitlocket.cjs'],
    ['yarn dlx', `/tmp/xfs-1f2e3d4c/dlx-4711/${file}`],
    ['bunx', `/tmp/bunx-1000-gitlocket@latest/${file}`],
  ])('%s is refused: %s', (command, path) => {
    expect(() => checkIsInstalled(path)).toThrow(`in a cache that ${command} clears`)
  })

  test.each([
    `/usr/local/lib/${file}`,
    `/home/a/.local/share/pnpm/global/5/.pnpm/gitlocket@1.0.0/${file}`,
    `/home/a/.bun/install/global/${file}`,
    `/home/a/dlx/gitlocket/src/bin/gitlocket.cjs`,
  ])('none is not: %s', (path) => {
    expect(() => checkIsInstalled(path)).not.toThrow()
  })
})

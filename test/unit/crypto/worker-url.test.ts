// Workers are compiled modules, wherever the caller runs; in most bundles there are none.

import { mkdirSync, writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { findWorker } from '../../../src/worker-url.ts'
import { temporaryDirectory } from '../../support/temporary.ts'

test.each([
  ['a/dist/crypto/passphrase.js', 'a/dist/crypto/w.js'],
  ['a/src/crypto/passphrase.ts', 'a/dist/crypto/w.js'],
  ['a/dist/command/verifying.cjs', 'a/dist/command/w.cjs'],
  ['src/a/src/crypto/passphrase.ts', 'src/a/dist/crypto/w.js'],
  ['src/node_modules/gitlocket/dist/git/b.js', 'src/node_modules/gitlocket/dist/git/w.js'],
])('beside %s is %s', (caller, expected) => {
  const root = `${temporaryDirectory()}/`
  const address = (path: string): string => new URL(path, pathToFileURL(root)).href
  expect(findWorker(address(caller), 'w')).toBeUndefined()
  mkdirSync(root + expected.replace(/[^/]*$/, ''), { recursive: true })
  writeFileSync(root + expected, '')
  expect(findWorker(address(caller), 'w')?.href).toBe(address(expected))
})

test.each([undefined, 'https://host.example/bundle.js', 'webpack://bundle.js'])(
  'beside %s is none',
  (moduleUrl) => {
    expect(findWorker(moduleUrl, 'w')).toBeUndefined()
  },
)

// Workers are compiled modules, wherever the caller runs.

import { expect, test } from 'vitest'
import { workerUrl } from '../../../src/worker-url.ts'

test.each([
  ['file:///a/dist/crypto/passphrase.js', 'file:///a/dist/crypto/w.js'],
  ['file:///a/src/crypto/passphrase.ts', 'file:///a/dist/crypto/w.js'],
  ['file:///src/a/src/crypto/passphrase.ts', 'file:///src/a/dist/crypto/w.js'],
  [
    'file:///home/src/node_modules/gitlocket/dist/git/b.js',
    'file:///home/src/node_modules/gitlocket/dist/git/w.js',
  ],
])('beside %s is %s', (moduleUrl, expected) => {
  expect(workerUrl(moduleUrl, 'w').href).toBe(expected)
})

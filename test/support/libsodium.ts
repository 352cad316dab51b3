// Runs before the tests of each file: they call what the library calls once libsodium is loaded.

import { loadSodium } from '../../src/crypto/sodium.ts'

await loadSodium()

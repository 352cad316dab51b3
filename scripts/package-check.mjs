// Runs, and is type-checked, in an empty project that has only the packed package: makes a store,
// writes, verifies, closes, and reads it again. Started by package-check.sh.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createStore, generateIdentity, openStore } from 'gitlocket'

const home = mkdtempSync(join(tmpdir(), 'gitlocket-package-'))
try {
  const identity = await generateIdentity()
  const directory = join(home, 'store')
  const places = { directory, stateDirectory: join(home, 'state'), identity }

  const { store } = await createStore({ ...places, name: 'packed' })
  await store.as({ actor: { type: 'user', id: 'package-check' } }).write('/note.md', 'hello\n')
  await store.maintenance.verify()
  await store.close()

  const again = await openStore(places)
  assert.equal((await again.read('/note.md'))?.content, 'hello\n')
  await again.close()
} finally {
  rmSync(home, { recursive: true, force: true })
}

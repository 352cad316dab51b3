// A process that writes and syncs until it is killed: `node sync-process.mjs <directory> <state
// directory> <identity file> <name>`. Prints what the store has acknowledged: each path once it is
// written, and each again once a sync has sent it.

import { readFileSync, writeSync } from 'node:fs'
import { openStore, parseIdentity } from '../../dist/index.js'

const [directory, stateDirectory, identityFile, name] = process.argv.slice(2)
const identity = await parseIdentity(readFileSync(identityFile, 'utf8'))
const author = { actor: { type: 'session', id: name } }
const store = await openStore({ directory, stateDirectory, identity })
for (let index = 0; ; index += 1) {
  const path = `/${name}/${index}.md`
  await store.as(author).apply([{ type: 'create', path, content: `${name} wrote ${index}\n` }])
  say(`wrote ${path}`)
  await store.as(author).sync()
  say(`sent ${path}`)
}

/**
 * Synchronous: printed changes were acknowledged, even if the process dies in the next instruction.
 */
function say(line) {
  writeSync(1, `${line}\n`)
}

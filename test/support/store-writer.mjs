// A process that writes memories until it is told to stop, or killed: `node store-writer.mjs
// <directory> <state directory> <identity file> <name> <count>`. Prints the number of each write
// once the store has acknowledged it.

import { readFileSync, writeSync } from 'node:fs'
import { openStore, parseIdentity } from '../../dist/index.js'

const [directory, stateDirectory, identityFile, name, count] = process.argv.slice(2)
const identity = await parseIdentity(readFileSync(identityFile, 'utf8'))
const store = await openStore({ directory, stateDirectory, identity })
const author = { actor: { type: 'session', id: name } }
writeSync(1, 'open\n')
for (let index = 0; index < Number(count); index += 1) {
  const path = `/${name}/${index}.md`
  await store.as(author).apply([{ type: 'create', path, content: `${name} wrote ${index}\n` }])
  // Synchronous: printed changes were acknowledged, even if the process dies in the next
  // instruction.
  writeSync(1, `${index}\n`)
}
await store.close()

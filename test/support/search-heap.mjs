// A process whose heap is searched for the text that it has redacted: `node search-heap.mjs
// <directory> <state directory> <salt> held|redacted|reopened`. Writes memories that hold a word
// made from the salt, finds them with an index, redacts them unless told not to, and prints how
// often the heap has the word: once, since a heap snapshot is in the heap itself. Puts the word
// together where it is needed, so that nothing of this program holds it.

import { getHeapSnapshot } from 'node:v8'
import { createStore, generateIdentity, openStore } from '../../dist/index.js'

const [directory, stateDirectory, salt, mode] = process.argv.slice(2)
const author = { actor: { type: 'user', id: 'u' } }

/** Longer than the parts that V8 copies: a part of it would keep the whole text. */
const word = () => ['kanarien', 'vogel', salt].join('')

const identity = await generateIdentity()
const places = { directory, stateDirectory, identity }
let { store } = await createStore(places)
let me = store.as(author)
for (let number = 0; number < 20; number += 1) {
  await me.write(`/other/${number}.md`, `nothing to see here ${number}\n`.repeat(20))
}
await me.write('/short.md', `${word()}\n`)
await me.write('/long.md', `${word()} and ${'more '.repeat(10_000)}${word()}\n`)
await me.write(`/${word()}.md`, 'its path\n')
const found = []
for (const query of ['kanar', 'kanar', 'kanar more', 'nothing']) {
  found.push((await store.search({ query, fuzzy: true })).data.length)
}
found.push((await store.search({ query: 'kan.rien', regex: true })).data.length)
if (mode === 'reopened') {
  await store.close()
  store = await openStore(places)
  me = store.as(author)
}
if (mode !== 'held') await redact()
const inHeap = await countInHeap()
const left = (await store.search({ query: 'kanar' })).data.length
const residue = (await store.maintenance.findResidue()).found.length
await store.close()
process.stdout.write(JSON.stringify({ found, inHeap, left, residue }))

async function redact() {
  const { data } = await store.search({ query: 'kanar' })
  const versionIds = data.map(({ memory }) => memory.versionId)
  await me.redact({ select: { versionIds }, reason: 'leaked_secret', current: 'delete' })
}

/** In bytes, which lie outside of the heap: what counts must not be counted. */
async function countInHeap() {
  const wanted = Buffer.from(word())
  let count = 0
  let rest = Buffer.alloc(0)
  for await (const chunk of getHeapSnapshot()) {
    const text = Buffer.concat([rest, Buffer.from(String(chunk).toLowerCase())])
    for (let at = text.indexOf(wanted); at !== -1; at = text.indexOf(wanted, at + 1)) count += 1
    rest = text.subarray(-(wanted.length - 1))
  }
  return count
}

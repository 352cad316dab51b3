// A store with many versions, for processes of its own: `node --expose-gc large-store.mjs build
// <directory> <commits> <rows>` makes one of large changes, `… ask <directory>` opens it, writes,
// asks and closes, and prints the memory of the process. The identity is next to `<directory>`.

import { readFileSync, writeFileSync } from 'node:fs'
import {
  createStore,
  formatIdentity,
  generateIdentity,
  openStore,
  parseIdentity,
} from '../../dist/index.js'

const [task, place = '', commits = 0, rows = 0] = process.argv.slice(2)
const paths = { directory: `${place}/store`, stateDirectory: `${place}/state` }
const identityFile = `${place}/identity`
const author = { actor: { type: 'user', id: 'test' } }

async function build() {
  const identity = await generateIdentity()
  writeFileSync(identityFile, formatIdentity(identity))
  const { store } = await createStore({ ...paths, identity })
  const names = Array.from({ length: Number(rows) }, (_, n) => `/${n % 64}/${n}.md`)
  for (let round = 0; round < Number(commits); round += 1) {
    const content = `round ${round}\n`
    const changes = names.map((path) => {
      if (round === 0) return { type: 'create', path, content }
      return { type: 'edit', path, edit: () => content }
    })
    await store.as(author).apply(changes)
  }
  await store.close()
}

/** Bytes in use, the buffers outside of the heap included. */
function used() {
  for (let n = 0; n < 3; n += 1) globalThis.gc()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

function more(text) {
  return `${text}more\n`
}

async function ask() {
  const identity = await parseIdentity(readFileSync(identityFile, 'utf8'))
  const store = await openStore({ ...paths, identity })
  const open = used()
  await store.as(author).apply([{ type: 'edit', path: '/2/2.md', edit: more }])
  const { data: versions } = await store.history.versions({
    path: '/1/1.md',
    order: 'oldest',
    limit: 1000,
  })
  const { data: page } = await store.history.versions({})
  const past = await store.at({ versionId: versions[0].versionId })
  const text = (await past.read('/1/1.md')).content
  const asked = used() - open
  await store.close()
  const { rss } = process.memoryUsage()
  const found = { versions: versions.length, page: page.length, text }
  process.stdout.write(JSON.stringify({ open, asked, rss, ...found }))
}

await (task === 'build' ? build() : ask())

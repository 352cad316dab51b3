// What a program does with the entries of Node, and with `gitlocket/web`, in whatever runtime it is
// started: in-runtime.mjs <directory> <bare remote> <address for the web> <grant>. Prints JSON.

import { createStore, generateIdentity, joinStore, openStore } from 'gitlocket'
import { memoryTool } from 'gitlocket/anthropic'
import * as web from 'gitlocket/web'

const [directory, remote, url, grant] = process.argv.slice(2)
const author = { actor: { type: 'session', id: 'runtime' } }
const passphrase = 'a passphrase of some words'
const stretch = { passes: 2, memoryKiB: 65_536 }
const placeOf = async (name) => ({
  directory: `${directory}/${name}`,
  stateDirectory: `${directory}/${name}-state`,
  identity: await generateIdentity(),
})
const create = (path) => ({
  command: 'create',
  path: `/memories${path}`,
  file_text: `at ${path}\n`,
})

const place = await placeOf('first')
const made = await createStore({ ...place, author, passphrase, stretch })
await made.store.as(author).write('/a.md', 'a text\n')
await made.store.close()

const store = await openStore(place)
const tool = memoryTool(store, { session: 'runtime', ToolError: Error })
const told = await tool.run(create('/b.md'))
await store.remotes.add('origin', remote)
const { sent } = await store.as(author).sync()

const from = { url: remote, storeId: store.id, passphrase, trustFirstContact: async () => true }
const other = await joinStore({ ...(await placeOf('second')), ...from, author, stretch })
await other.as(author).edit('/a.md', (text) => `${text}of the second\n`)
await other.as(author).sync()
await store.as(author).edit('/a.md', (text) => `of the first\n${text}`)
await store.as(author).sync()
const merged = (await store.read('/a.md')).content
const { data } = await store.search({ query: 'a t.xt', regex: true })
const { memories } = await other.maintenance.verify()
await Promise.all([store.close(), other.close()])

const remoteStore = await web.openRemote({ url, grant })
const webTool = web.memoryTool(remoteStore, { session: 'runtime', ToolError: Error })
const read = (await remoteStore.read('/notes/0.md')).content
const toldByWeb = await webTool.run(create('/web.md'))
await remoteStore.close()

const found = data.length
process.stdout.write(
  JSON.stringify({ told, sent: sent.commits, merged, found, memories, read, toldByWeb }),
)

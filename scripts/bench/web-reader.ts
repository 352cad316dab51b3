// A process that opens a store in RAM with a grant, and prints a memory: `url grant-file path`.
// Node fetches no files, so that it is given the WebAssembly of the bundle here.

import { readFileSync } from 'node:fs'
import { argv } from 'node:process'

const [, , url = '', grantFile = '', path = ''] = argv
const { fetch: fetchByHttp } = globalThis
globalThis.fetch = async (from, how) => {
  const isFile = from instanceof URL && from.protocol === 'file:'
  return isFile ? new Response(readFileSync(from)) : fetchByHttp(from, how)
}

const { openRemote } = await import('gitlocket/web')
const store = await openRemote({ url, grant: readFileSync(grantFile, 'utf8').trim() })
const memory = await store.read(path)
if (memory === undefined) throw new Error('There is no such memory')
console.log(memory.content)
await store.close()

// Guarded updates by the library and over HTTP: the same memories and texts, each update on
// condition of the one before.

import { createStore, generateIdentity } from 'gitlocket'
import { type Client, textOf } from './client.ts'
import { hashOf } from './lines.ts'

/** Updates a memory once. */
export type Update = () => Promise<void>

export interface Updater {
  /** Creates a memory of this name. */
  readonly begin: (name: string) => Promise<Update>
  readonly close: () => Promise<void>
}

/** In a new store below `directory`. */
export async function libraryUpdater(directory: string): Promise<Updater> {
  const at = { directory: `${directory}/store`, stateDirectory: `${directory}/state` }
  const { store } = await createStore({ ...at, identity: await generateIdentity() })
  const me = store.as({ actor: { type: 'api', id: 'apikey_ratio' } })
  return {
    begin: async (name) => {
      const created = await me.write(`/${name}`, textAt(name, 0))
      const memoryId = created.memories[0]?.memoryId ?? ''
      return countUp(name, async (content, expectedSha256) => {
        await me.apply([{ type: 'update', memoryId, content, expectedSha256 }])
      })
    },
    close: () => store.close(),
  }
}

/** In a new store of the server. */
export async function httpUpdater(client: Client): Promise<Updater> {
  const storeId = textOf(await client.ask('POST', '', { name: 'ratio' }), 'id')
  return {
    begin: async (name) => {
      const body = { path: `/${name}`, content: textAt(name, 0) }
      const created = await client.ask('POST', `/${storeId}/memories`, body)
      const path = `/${storeId}/memories/${textOf(created, 'id')}`
      return countUp(name, async (content, sha256) => {
        const precondition = { type: 'content_sha256', content_sha256: sha256 }
        textOf(await client.ask('POST', path, { content, precondition }), 'id')
      })
    },
    close: () => Promise.resolve(),
  }
}

function countUp(
  name: string,
  update: (content: string, expectedSha256: string) => Promise<void>,
): Update {
  let done = 0
  return async () => {
    const expected = hashOf(textAt(name, done))
    done += 1
    await update(textAt(name, done), expected)
  }
}

function textAt(name: string, number: number): string {
  return `${name}, update ${number}\n`.repeat(40)
}

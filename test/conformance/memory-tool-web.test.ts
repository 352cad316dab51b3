// Every row of the corpus through a store in RAM, over stock `git http-backend`: the rig looks at
// the store of the granter's disk, which gets each change from the remote.
// @module-tag slow

import { join } from 'node:path'
import { afterAll, describe } from 'vitest'
import { type GitHost, startGitHost } from '../../scripts/bench/http-backend.ts'
import type { MemoryStore } from '../../src/store/memory-store.ts'
import { memoryToolHandlers, openRemote, type RemoteStore } from '../../src/web/web.ts'
import { author } from '../support/stores.ts'
import { git } from '../support/temporary.ts'
import {
  makeStore,
  type MakeStore,
  outcomeOf,
  testCorpus,
  type Transport,
} from './memory-tool/rig.ts'

const remotes = new Map<MemoryStore, RemoteStore>()
const hosts: GitHost[] = []

const make: MakeStore = async (directory, limits) => {
  const store = await makeStore(directory, limits)
  const repository = join(directory, 'remote.git')
  git(['init', '--quiet', '--bare', '--initial-branch=main', repository], '/')
  await store.remotes.add('origin', repository)
  const me = store.as(author)
  await me.sync()
  const { text: grant } = await me.grants.give({ label: 'edge' })
  await me.sync()
  const host = await startGitHost(repository)
  hosts.push(host)
  remotes.set(store, await openRemote({ url: host.url, grant }))
  return store
}

const throughRemote: Transport = async (store, { command, input }) => {
  const remote = remotes.get(store)
  if (remote === undefined) throw new Error('the store has a remote')
  await store.as(author).sync()
  await remote.sync()
  const handlers = memoryToolHandlers(remote, { session: 'session' })
  const outcome = await outcomeOf(handlers[command](input))
  await store.as(author).sync()
  return outcome
}

describe('through a store in RAM', () => {
  afterAll(async () => {
    for (const remote of remotes.values()) await remote.close()
    for (const host of hosts) host.close()
  })
  testCorpus({ transport: throughRemote, make, lacks: [], oneIn: 6 })
})

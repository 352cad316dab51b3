// `remote add|list|remove`: where else the store lives. Nothing is contacted.

import type { Answer, Input } from '../command.ts'
import { withStore } from '../context.ts'
import type { Context } from '../context.ts'

export function remoteAdd(context: Context, input: Input): Promise<Answer> {
  const [name, url] = [input.argument(0), input.argument(1)]
  return withStore(context, async (store) => {
    await store.addRemote(name, url)
    const added = store.remotes().find((remote) => remote.name === name)
    return {
      text: `Added the remote ${name}\n\nNext: gitlocket sync\n`,
      json: { name, url: added?.url ?? url },
    }
  })
}

export function remoteList(context: Context): Promise<Answer> {
  return withStore(context, async (store) => {
    const remotes = store.remotes()
    const width = Math.max(0, ...remotes.map(({ name }) => name.length))
    const text = remotes.map(({ name, url }) => `${name.padEnd(width)}  ${url}\n`).join('')
    const note = remotes.length === 0 ? 'No remote; `gitlocket remote add` names one' : undefined
    return { text, json: { remotes }, ...(note !== undefined && { note }) }
  })
}

export function remoteRemove(context: Context, input: Input): Promise<Answer> {
  const name = input.argument(0)
  return withStore(context, async (store) => {
    await store.removeRemote(name)
    return { text: `Removed the remote ${name}; what it holds is untouched\n`, json: { name } }
  })
}

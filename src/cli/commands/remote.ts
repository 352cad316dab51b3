// `remote add|list|remove`: where else the store lives, as `git remote` shows it too. Nothing is
// contacted, decrypted or verified, so that whoever has a clone can do it: an auditor, or a machine
// whose store does not open.

import { formatId } from '../../format/id.ts'
import { openDiskObjectStore } from '../../git/disk-object-store.ts'
import type { PackExchange } from '../../git/exchange.ts'
import { readStoreId } from '../../store/open.ts'
import { addressOf } from '../../store/sync/join.ts'
import { parseRemoteUrl } from '../../transport/remote-url.ts'
import type { Answer, Input } from '../command.ts'
import { CommandError } from '../command.ts'
import { checkIsDirectory } from '../context.ts'
import type { Context } from '../context.ts'

export function remoteAdd(context: Context, input: Input): Promise<Answer> {
  const [name, address] = [input.argument(0), input.argument(1)]
  // The same address as for `join`, with or without the id of the store.
  const { url: plain, expected } = addressOf({ url: address })
  const { text: url } = parseRemoteUrl(plain)
  return withRemotes(context, async (remotes, storeId) => {
    if (expected !== undefined && expected !== storeId) throw anotherStore(expected, storeId)
    await remotes.addRemote({ name, url })
    return { text: `Added the remote ${name}\n\nNext: gitlocket sync\n`, json: { name, url } }
  })
}

export function remoteList(context: Context): Promise<Answer> {
  return withRemotes(context, async (exchange) => {
    const remotes = exchange.remotes()
    const width = Math.max(0, ...remotes.map(({ name }) => name.length))
    const text = remotes.map(({ name, url }) => `${name.padEnd(width)}  ${url}\n`).join('')
    const note = remotes.length === 0 ? 'No remote; `gitlocket remote add` names one' : undefined
    return { text, json: { remotes }, ...(note !== undefined && { note }) }
  })
}

export function remoteRemove(context: Context, input: Input): Promise<Answer> {
  const name = input.argument(0)
  return withRemotes(context, async (remotes) => {
    if (!remotes.remotes().some((remote) => remote.name === name)) throw unknownRemote(name)
    await remotes.removeRemote(name)
    return { text: `Removed the remote ${name}; what it holds is untouched\n`, json: { name } }
  })
}

/** `storeId` as hex digits, as the repository says. */
async function withRemotes<T>(
  { environment }: Context,
  work: (remotes: PackExchange, storeId: string) => Promise<T>,
): Promise<T> {
  const { storeDirectory: directory } = environment
  checkIsDirectory(directory)
  const objects = await openDiskObjectStore({ directory })
  try {
    return await work(objects.exchange, readStoreId(objects))
  } finally {
    await objects.close()
  }
}

function anotherStore(expected: string, own: string): CommandError {
  const [theirs, ours] = [expected, own].map((id) => formatId('store', id))
  const problem = `The address is of ${theirs}, not of ${ours}`
  const hint = '`gitlocket join` with the address and another --store makes a clone of that one'
  return new CommandError('invalid_input', problem, hint)
}

function unknownRemote(name: string): CommandError {
  const hint = '`gitlocket remote list` shows those that there are'
  return new CommandError('not_found', `There is no remote named ${name}`, hint)
}

// `remote add|list|set-membership|remove`: manages the remotes of the store, which `git remote`
// shows too. All but the choice for members need no keys: they work for an auditor, and if the
// store does not open.

import { pageJson, type Wire } from '../../api/wire.ts'
import { hasCode } from '../../errors.ts'
import { addRemote, listRemotes, removeRemote } from '../../store/clone-remotes.ts'
import { CommandError } from '../call/command-error.ts'
import type { Answer, Input } from '../call/command.ts'
import type { Context } from '../call/context.ts'
import { checkIsDirectory, withStore } from '../store/open-store.ts'
import { unknownRemoteHint } from '../text/remote-failure.ts'

export async function remoteAdd(context: Context, input: Input): Promise<Answer> {
  const added = addRemote(directoryOf(context), input.argument(0), input.argument(1))
  const { name, url } = await added.catch((error: unknown) => {
    if (!hasCode(error, 'store_id_mismatch')) throw error
    // Only the address is wrong; nothing was tampered with.
    const hint = '`gitlocket join` with the address and another --store clones that store'
    throw new CommandError('invalid_input', error.message, hint)
  })
  return {
    text: `Added the remote ${name}\n\nNext: gitlocket sync\n`,
    json: remoteJson({ name, url }),
  }
}

export async function remoteList(context: Context): Promise<Answer> {
  const remotes = await listRemotes(directoryOf(context))
  const width = Math.max(0, ...remotes.map(({ name }) => name.length))
  const text = remotes.map(({ name, url }) => `${name.padEnd(width)}  ${url}\n`).join('')
  const note = remotes.length === 0 ? 'No remote; `gitlocket remote add` names one' : undefined
  return { text, json: pageJson(remotes.map(remoteJson)), ...(note !== undefined && { note }) }
}

export function remoteSetMembership(context: Context, input: Input): Promise<Answer> {
  const name = input.argument(0)
  return withStore(context, async (store) => {
    await store.remotes.setMembership(name).catch((error: unknown) => {
      if (!hasCode(error, 'not_found')) throw error
      throw new CommandError('not_found', error.message, unknownRemoteHint)
    })
    return { text: `Changes of devices and keys go to ${name} first\n`, json: { name } }
  })
}

export async function remoteRemove(context: Context, input: Input): Promise<Answer> {
  const name = input.argument(0)
  await removeRemote(directoryOf(context), name).catch((error: unknown) => {
    if (!hasCode(error, 'not_found')) throw error
    throw new CommandError('not_found', error.message, unknownRemoteHint)
  })
  return { text: `Removed the remote ${name}; what it holds is untouched\n`, json: { name } }
}

function remoteJson({ name, url }: { readonly name: string; readonly url: string }): Wire {
  return { type: 'remote', name, url }
}

function directoryOf({ environment }: Context): string {
  const { storeDirectory } = environment
  checkIsDirectory(storeDirectory)
  return storeDirectory
}

// `remote add|list|set-membership|remove`: manages the remotes of the store, which `git remote`
// shows too. All but the choice for members need no keys: they work for an auditor, and if the
// store does not open.

import { hasCode, StoreError } from '../../../errors.ts'
import type { Remote } from '../../../git/exchange.ts'
import { findIdentity } from '../../../home/identity-file.ts'
import type { Identity } from '../../../keys/identity.ts'
import { pageJson, type Wire } from '../../../operations/wire.ts'
import { addRemote, addRemoteTo, listRemotes, removeRemote } from '../../../store/clone-remotes.ts'
import {
  CommandError,
  type Answer,
  type Command,
  type Context,
  type Input,
} from '../../call/command.ts'
import type { Environment } from '../../call/environment.ts'
import { checkIsDirectory, getIdentity, isShared, withStore } from '../../store/open-store.ts'
import { inkOf } from '../../terminal/ink.ts'
import { unknownRemoteHint } from '../../text/remote-failure.ts'
import { tableText } from '../../text/table.ts'

export const commands: readonly Command[] = [
  {
    name: 'remote add',
    summary: 'Name a remote: https, ssh, or a path',
    usage: '<name> <url>',
    notes: [
      'The url is https://…, ssh://…, user@host:path, file://… or an absolute path. If ' +
        '#memstore_… follows, as for `join`, it must be the id of this store. No remote is ' +
        'contacted. If #memstore_…+… follows, which needs the identity file, syncs with this ' +
        'remote are refused until it or this clone has the state that it names.',
      'Of the settings of git, those of credentials, `core.sshCommand`, `http.sslCAInfo`, ' +
        '`http.sslCAPath` and `http.proxy` hold. These have no effect: `url.<base>.insteadOf` ' +
        'and `pushInsteadOf`, `http.extraHeader`, `http.sslVerify`, `http.sslCert`, ' +
        '`core.askPass`, and the configuration of a repository itself.',
    ],
    run: remoteAdd,
  },
  {
    name: 'remote list',
    summary: 'List the remotes',
    run: remoteList,
  },
  {
    name: 'remote set-membership',
    summary: 'Choose the remote that changes of devices and keys are pushed to',
    usage: '<name>',
    notes: [
      'For this machine; else it is `origin`, or the only one. Other remotes follow by sync. All ' +
        'owners should choose the same: two that change devices or keys through different ' +
        'remotes have to choose one of both changes.',
    ],
    run: remoteSetMembership,
  },
  {
    name: 'remote remove',
    destroys: true,
    summary: 'Forget a remote; what it holds is untouched',
    usage: '<name>',
    run: remoteRemove,
  },
]

async function remoteAdd(context: Context, input: Input): Promise<Answer> {
  const [remote, address] = [input.argument(0), input.argument(1)]
  const added = withRemotes(context, (remotes) => remotes.add(remote, address))
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

async function remoteList(context: Context, input: Input): Promise<Answer> {
  const remotes = await withRemotes(context, (found) => found.list())
  const text = tableText(context, inkOf(context, input), remotes, [
    { head: 'NAME', cell: ({ name }) => name, cut: 'end' },
    { head: 'URL', cell: ({ url }) => url, cut: 'beginning', weight: 4 },
  ])
  const note = remotes.length === 0 ? 'No remote; `gitlocket remote add` names one' : undefined
  return { text, inked: true, json: pageJson(remotes.map(remoteJson)), note }
}

function remoteSetMembership(context: Context, input: Input): Promise<Answer> {
  const name = input.argument(0)
  return withStore(context, async (store) => {
    await store.remotes.setMembership(name).catch((error: unknown) => {
      if (!hasCode(error, 'not_found')) throw error
      throw new CommandError('not_found', error.message, unknownRemoteHint)
    })
    return { text: `Changes of devices and keys go to ${name} first\n`, json: { name } }
  })
}

async function remoteRemove(context: Context, input: Input): Promise<Answer> {
  const name = input.argument(0)
  await withRemotes(context, (remotes) => remotes.remove(name)).catch((error: unknown) => {
    if (!hasCode(error, 'not_found')) throw error
    throw new CommandError('not_found', error.message, unknownRemoteHint)
  })
  return { text: `Removed the remote ${name}; what it holds is untouched\n`, json: { name } }
}

function remoteJson({ name, url }: { readonly name: string; readonly url: string }): Wire {
  return { type: 'remote', name, url }
}

/** A remote can be added without keys, and if they are damaged. */
function findIdentityIfAny(environment: Environment): Identity | undefined {
  try {
    return environment.grant === undefined ? findIdentity(environment) : undefined
  } catch (error) {
    if (error instanceof StoreError) return undefined
    throw error
  }
}

interface NamedRemotes {
  readonly add: (name: string, address: string) => Promise<Remote>
  readonly list: () => Promise<readonly Remote[]>
  readonly remove: (name: string) => Promise<void>
}

/** Those of a store in a directory, without opening it; those of a shared one are in its log. */
function withRemotes<T>(context: Context, work: (remotes: NamedRemotes) => Promise<T>): Promise<T> {
  const { environment } = context
  if (isShared(environment)) {
    return withStore(context, (store) =>
      work({
        add: (name, address) => addRemoteTo(store, name, address),
        list: () => store.remotes.list(),
        remove: (name) => store.remotes.remove(name),
      }),
    )
  }
  const { storeDirectory: directory, stateDirectory } = environment
  checkIsDirectory(directory)
  const places = {
    directory,
    stateDirectory,
    findIdentity: (isNeeded: boolean) =>
      isNeeded ? getIdentity(environment) : findIdentityIfAny(environment),
  }
  return work({
    add: (name, address) => addRemote(places, name, address),
    list: () => listRemotes(directory),
    remove: (name) => removeRemote(directory, name),
  })
}

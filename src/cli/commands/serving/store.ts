// `store create|list`: the stores of a server. They work while it runs, and it serves a new one
// with its next request.

import { StoreError } from '../../../errors.ts'
import type { HostAdministration } from '../../../hosting/administration.ts'
import type { HostedStore } from '../../../hosting/catalogue.ts'
import { pageJson, storeObject, type Wire } from '../../../operations/wire.ts'
import type { Answer, Command, Context, Input } from '../../call/command.ts'
import { authorOf, noGuardOption } from '../../call/options.ts'
import {
  newStoreOptions,
  placeOptions,
  recoveryOf,
  storeLimitsOf,
  withAdministration,
  workspaceOption,
} from '../../store/server.ts'
import { timeFormat } from '../../text/times.ts'

export const commands: readonly Command[] = [
  {
    name: 'store create',
    summary: 'Create a store on a server, also while it runs',
    usage: '<name>',
    options: {
      ...workspaceOption,
      ...noGuardOption,
      ...newStoreOptions,
      ...placeOptions,
      '--actor <id>': 'The user to record; else the login name',
    },
    notes: [
      'The API keys of the workspace reach it with their next request. What recovers it is ' +
        'decided as by `serve`: give it the options that the server was started with.',
    ],
    run: storeCreate,
  },
  {
    name: 'store list',
    summary: 'List the stores of a server, newest first, archived ones too',
    options: {
      '--workspace <id>': 'Of this workspace, wrkspc_…; else of all',
      ...placeOptions,
    },
    run: storeList,
  },
]

function storeCreate(context: Context, input: Input): Promise<Answer> {
  return withAdministration(context, input, async (host) => {
    const store = await host.createStore({
      name: input.argument(0),
      actor: authorOf(context, input).actor,
      workspaceId: input.text('workspace'),
      limits: storeLimitsOf(input),
      refuseSecrets: !input.flag('no-guard'),
      ...(await recoveryOf(context, input)),
    })
    const text = `Created the store ${store.storeId} in the workspace ${store.workspaceId}\n`
    return { text, json: storeJson(store) }
  })
}

function storeList(context: Context, input: Input): Promise<Answer> {
  return withAdministration(context, input, async (host) => {
    const stores = storesOf(host, input.text('workspace'))
    const time = timeFormat(context)
    const lines = stores.map(({ storeId, workspaceId, name, createdAt, archivedAt }) => {
      const state = archivedAt === undefined ? 'active' : `archived ${time(archivedAt)}`
      return `${storeId}  ${workspaceId}  ${time(createdAt)}  ${state}  ${name}\n`
    })
    const none = 'There is no store; `gitlocket store create` makes one\n'
    return {
      text: stores.length === 0 ? none : lines.join(''),
      json: pageJson(stores.map(storeJson)),
      paged: true,
    }
  })
}

/** Throws `not_found` for the workspace. */
function storesOf(host: HostAdministration, workspace: string | undefined): readonly HostedStore[] {
  if (workspace === undefined) return host.stores()
  if (host.workspaces().every(({ workspaceId }) => workspaceId !== workspace)) {
    throw new StoreError('not_found', 'There is no such workspace')
  }
  return host.stores().filter(({ workspaceId }) => workspaceId === workspace)
}

function storeJson(store: HostedStore): Wire {
  return { ...storeObject(store), workspace_id: store.workspaceId }
}

// `store create|list`: the stores of a server. They work while it runs, and it serves a new one
// with its next request.

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
  workspaceColumn,
  workspaceOf,
  workspaceOption,
} from '../../store/server.ts'
import { inkOf } from '../../terminal/ink.ts'
import { idColumn, tableText } from '../../text/table.ts'
import { ageFormat } from '../../text/times.ts'

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
      '--workspace <workspace>': 'Only those of this workspace',
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
      workspaceId: await workspaceOf(host, input),
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
    const workspace = await workspaceOf(host, input)
    const stores = (await host.stores()).filter(({ workspaceId }) => {
      return workspace === undefined || workspaceId === workspace
    })
    const age = ageFormat(context)
    const text = tableText(context, inkOf(context, input), stores, [
      { head: 'NAME', cell: ({ name }) => name, cut: 'end' },
      await workspaceColumn(host),
      { head: 'CREATED', cell: ({ createdAt }) => age(createdAt) },
      {
        head: 'ARCHIVED',
        cell: ({ archivedAt }) => (archivedAt === undefined ? '' : age(archivedAt)),
      },
      idColumn(({ storeId }) => storeId),
    ])
    const none = 'There is no store; `gitlocket store create` makes one'
    const note = stores.length === 0 ? none : undefined
    return { text, inked: true, json: pageJson(stores.map(storeJson)), paged: true, note }
  })
}

function storeJson(store: HostedStore): Wire {
  return { ...storeObject(store), workspace_id: store.workspaceId }
}

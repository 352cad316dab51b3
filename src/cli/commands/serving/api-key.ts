// `api-key create|list|revoke`, `workspace create|list`: who may use a server. They work alongside
// it, and it notices with its next request.

import type { HostAdministration } from '../../../hosting/administration.ts'
import type { Workspace } from '../../../hosting/catalogue.ts'
import type { ApiKey } from '../../../hosting/credentials.ts'
import { pageJson, type Wire } from '../../../operations/wire.ts'
import {
  type Answer,
  type Command,
  type Context,
  type Input,
  usageError,
} from '../../call/command.ts'
import { resolveNamed } from '../../store/named.ts'
import {
  placeOptions,
  withAdministration,
  workspaceColumn,
  workspaceOf,
  workspaceOption,
} from '../../store/server.ts'
import { inkOf } from '../../terminal/ink.ts'
import { idColumn, tableText } from '../../text/table.ts'
import { ageFormat } from '../../text/times.ts'
import { wire } from '../../text/wire.ts'

export const commands: readonly Command[] = [
  {
    name: 'api-key create',
    summary: 'Create an API key for a server; it is shown once',
    options: {
      '--name <text>': 'Its purpose, for people',
      '--web-git <store>': 'A key that fetches this store by git, and does nothing else',
      ...workspaceOption,
      ...placeOptions,
    },
    notes: [
      'With --web-git, the store is named by its name or id. The key works at a server that runs ' +
        'with `serve --web-git`: as the password of git, or as a bearer token. It gives ' +
        'ciphertext: a reader also needs a grant, an identity or a recovery key.',
    ],
    run: apiKeyCreate,
  },
  {
    name: 'api-key list',
    summary: 'List the API keys of a server',
    options: placeOptions,
    run: apiKeyList,
  },
  {
    name: 'api-key revoke',
    destroys: true,
    summary: 'Revoke an API key; its sessions end with it',
    usage: '<key>',
    options: placeOptions,
    notes: [
      'By its name or its id. From the next request on. Its earlier writes are kept, in its name.',
    ],
    run: apiKeyRevoke,
  },
  {
    name: 'workspace create',
    summary: 'Create a workspace: its keys see its stores, and no others',
    usage: '<name>',
    options: placeOptions,
    run: workspaceCreate,
  },
  {
    name: 'workspace list',
    summary: 'List the workspaces of a server',
    options: placeOptions,
    run: workspaceList,
  },
]

function apiKeyCreate(context: Context, input: Input): Promise<Answer> {
  return withAdministration(context, input, async (host) => {
    const name = input.text('name') ?? 'key'
    const { key, token } = await newKey(host, input, name)
    return {
      text: [
        key.storeId === undefined
          ? `Created the API key ${key.keyId} in the workspace ${key.workspaceId}`
          : `Created the key ${key.keyId}, which fetches ${key.storeId} by git`,
        '',
        'Shown this once:',
        '',
        `  ${token}`,
        '',
      ].join('\n'),
      json: { ...keyJson(key), token },
    }
  })
}

async function newKey(
  host: HostAdministration,
  input: Input,
  name: string,
): ReturnType<HostAdministration['createKey']> {
  const typed = input.text('web-git')
  if (typed === undefined) return host.createKey(name, await workspaceOf(host, input))
  if (input.text('workspace') !== undefined) {
    throw usageError('--web-git names a store, whose workspace the key has', 'api-key create')
  }
  const stores = (await host.stores()).map((store) => ({ id: store.storeId, name: store.name }))
  const kind = { kind: 'store', list: 'gitlocket store list' }
  return host.createFetchKey(name, resolveNamed(stores, typed, kind))
}

function apiKeyList(context: Context, input: Input): Promise<Answer> {
  return withAdministration(context, input, async (host) => {
    const keys = await host.keys()
    const age = ageFormat(context)
    const text = tableText(context, inkOf(context, input), keys, [
      { head: 'NAME', cell: ({ name }) => name, cut: 'end' },
      await workspaceColumn(host),
      { head: 'CREATED', cell: ({ createdAt }) => age(createdAt) },
      { head: 'REVOKED', cell: ({ revokedAt }) => (revokedAt === undefined ? '' : age(revokedAt)) },
      { head: 'FETCHES', cell: ({ storeId = '' }) => storeId },
      idColumn(({ keyId }) => keyId),
    ])
    const none = 'There is no API key; `gitlocket api-key create` makes one'
    const note = keys.length === 0 ? none : undefined
    return { text, inked: true, json: pageJson(keys.map(keyJson)), paged: true, note }
  })
}

function apiKeyRevoke(context: Context, input: Input): Promise<Answer> {
  return withAdministration(context, input, async (host) => {
    const keys = (await host.keys()).map(({ keyId, name, revokedAt }) => {
      return { id: keyId, name: revokedAt === undefined ? name : '' }
    })
    const kind = { kind: 'API key', list: 'gitlocket api-key list' }
    const key = await host.revokeKey(resolveNamed(keys, input.argument(0), kind))
    return { text: `Revoked ${key.keyId}, and ended its sessions\n`, json: keyJson(key) }
  })
}

function workspaceCreate(context: Context, input: Input): Promise<Answer> {
  return withAdministration(context, input, async (host) => {
    const workspace = await host.createWorkspace(input.argument(0))
    const next = `Next: gitlocket api-key create --workspace ${workspace.workspaceId}`
    return {
      text: `Created the workspace ${workspace.workspaceId}\n\n${next}\n`,
      json: workspaceJson(workspace),
    }
  })
}

function workspaceList(context: Context, input: Input): Promise<Answer> {
  return withAdministration(context, input, async (host) => {
    const workspaces = await host.workspaces()
    const age = ageFormat(context)
    const text = tableText(context, inkOf(context, input), workspaces, [
      { head: 'NAME', cell: ({ name }) => name, cut: 'end' },
      { head: 'CREATED', cell: ({ createdAt }) => age(createdAt) },
      idColumn(({ workspaceId }) => workspaceId),
    ])
    return { text, inked: true, json: pageJson(workspaces.map(workspaceJson)), paged: true }
  })
}

function keyJson({ keyId, ...key }: ApiKey): Wire {
  return wire({ type: 'api_key', id: keyId, ...key })
}

function workspaceJson({ workspaceId, ...workspace }: Workspace): Wire {
  return wire({ type: 'workspace', id: workspaceId, ...workspace })
}

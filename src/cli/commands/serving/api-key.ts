// `api-key create|list|revoke`, `workspace create|list`: who may use a server. They work alongside
// it, and it notices with its next request.

import type { Workspace } from '../../../hosting/catalogue.ts'
import type { ApiKey } from '../../../hosting/credentials.ts'
import { pageJson, type Wire } from '../../../operations/wire.ts'
import type { Answer, Command, Context, Input } from '../../call/command.ts'
import { placeOptions, withAdministration, workspaceOption } from '../../store/server.ts'
import { timeFormat } from '../../text/times.ts'
import { wire } from '../../text/wire.ts'

export const commands: readonly Command[] = [
  {
    name: 'api-key create',
    summary: 'Create an API key for a server; it is shown once',
    options: {
      '--name <text>': 'Its purpose, for people',
      ...workspaceOption,
      ...placeOptions,
    },
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
    usage: '<id>',
    options: placeOptions,
    notes: ['From the next request on. Its earlier writes are kept, in its name.'],
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
    const { key, token } = await host.createKey(name, input.text('workspace'))
    return {
      text: [
        `Created the API key ${key.keyId} in the workspace ${key.workspaceId}`,
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

function apiKeyList(context: Context, input: Input): Promise<Answer> {
  return withAdministration(context, input, async (host) => {
    const keys = host.keys()
    const time = timeFormat(context)
    const lines = keys.map(({ keyId, workspaceId, name, createdAt, revokedAt }) => {
      const state = revokedAt === undefined ? 'active' : `revoked ${time(revokedAt)}`
      return `${keyId}  ${workspaceId}  ${time(createdAt)}  ${state}  ${name}\n`
    })
    const none = 'There is no API key; `gitlocket api-key create` makes one\n'
    return {
      text: keys.length === 0 ? none : lines.join(''),
      json: pageJson(keys.map(keyJson)),
      paged: true,
    }
  })
}

function apiKeyRevoke(context: Context, input: Input): Promise<Answer> {
  return withAdministration(context, input, async (host) => {
    const key = await host.revokeKey(input.argument(0))
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
    const workspaces = host.workspaces()
    const time = timeFormat(context)
    const lines = workspaces.map(({ workspaceId, name, createdAt }) => {
      return `${workspaceId}  ${time(createdAt)}  ${name}\n`
    })
    return { text: lines.join(''), json: pageJson(workspaces.map(workspaceJson)), paged: true }
  })
}

function keyJson({ keyId, ...key }: ApiKey): Wire {
  return wire({ type: 'api_key', id: keyId, ...key })
}

function workspaceJson({ workspaceId, ...workspace }: Workspace): Wire {
  return wire({ type: 'workspace', id: workspaceId, ...workspace })
}

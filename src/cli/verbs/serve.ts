// The verbs of a server of many stores; a part of ../table.ts.

import type { Command, Option } from '../call/command.ts'
import { authorOptions, noGuardOption } from '../call/options.ts'

/** Options of every verb about a server. */
const placeOptions: readonly Option[] = [
  { name: 'data', value: 'directory', summary: 'Where its stores are; else the default' },
  {
    name: 'state',
    value: 'directory',
    summary: 'State outside of them that reveals a rollback; else GITLOCKET_STATE_DIRECTORY',
  },
]

const workspaceOption: Option = {
  name: 'workspace',
  value: 'id',
  summary: 'The workspace, wrkspc_…; else the default one',
}

/** Options of every verb that decides what new stores have. */
const newStoreOptions: readonly Option[] = [
  {
    name: 'owner-card',
    value: 'file',
    summary: 'The device card of an owner of new stores, in place of an operator secret',
  },
  { name: 'content-limit', value: 'bytes', summary: 'Of new stores: the largest memory' },
  { name: 'memory-limit', value: 'number', summary: 'Of new stores: how many memories' },
]

export const serveCommands: readonly Command[] = [
  {
    name: 'serve',
    summary: 'Serve many stores by the Memory Stores API',
    positionals: [],
    options: [
      ...placeOptions,
      { name: 'host', value: 'address', summary: 'Where to listen; else 127.0.0.1' },
      { name: 'port', value: 'number', summary: 'The port, 0 for a free one; else 8787' },
      { name: 'tls-cert', value: 'file', summary: 'The certificate, in PEM' },
      { name: 'tls-key', value: 'file', summary: 'Its key, in PEM' },
      { name: 'behind-proxy', summary: 'Listen anywhere without TLS: a proxy in front has it' },
      {
        name: 'allow-host',
        value: 'name',
        summary: 'A name that requests may call the server by; may be repeated',
      },
      {
        name: 'allow-origin',
        value: 'origin',
        summary: 'A web origin that may call it; may be repeated',
      },
      { name: 'sync', value: 'interval', summary: 'Sync stores that have a remote, such as 5m' },
      { name: 'max-open', value: 'number', summary: 'How many stores are open at once; else 200' },
      { name: 'max-memory', value: 'bytes', summary: 'What the process may use; else 512M' },
      ...newStoreOptions,
      { name: 'accept-rolled-back', summary: 'Accept an older state that was restored on purpose' },
      { name: 'console', summary: 'Show all of its stores in a browser of this machine, too' },
    ],
    notes: [
      'Prints one line with the address when it is ready, then one line of JSON for each request ' +
        'on standard error: no path, no text, no token. `api-key create` makes the key that a ' +
        'client needs, also while it runs. SIGTERM and Ctrl-C end requests, close the stores and ' +
        'exit with 0.',
      'This machine is an owner of each store. What opens them if it is lost is decided with ' +
        'their creation: the operator secret that GITLOCKET_OPERATOR_SECRET_FILE names, else the ' +
        'one next to the identity file, which is made if missing; or the owners of ' +
        '--owner-card. Keep a copy of an operator secret elsewhere.',
      'The identity comes from its file, which is made if missing, or from ' +
        'GITLOCKET_IDENTITY; with neither, a terminal is asked if there are stores already. ' +
        'Elsewhere than on a loopback address it needs TLS, or --behind-proxy.',
    ],
    run: async (...call) => (await import('../commands/serve.ts')).serve(...call),
  },
  {
    name: 'serve backup',
    summary: 'Copy the stores of a server, also while it runs',
    positionals: [{ name: 'directory' }],
    options: placeOptions,
    notes: ['The directory must be absent or empty. Copy the identity file apart from it.'],
    run: async (...call) => (await import('../commands/serve-backup.ts')).serveBackup(...call),
  },
  {
    name: 'serve restore',
    summary: 'Make the stores of a server from a backup',
    positionals: [{ name: 'directory' }],
    options: placeOptions,
    notes: [
      'Needs the identity of the server, and a directory for its data that is absent or empty. ' +
        'The older state is accepted once. Stores that have a remote should sync before they ' +
        'are written to.',
    ],
    run: async (...call) => (await import('../commands/serve-backup.ts')).serveRestore(...call),
  },
  {
    name: 'serve rotate-operator',
    destroys: true,
    summary: 'Have the operator secret recover all stores of a server, and no earlier one',
    positionals: [],
    options: [
      ...placeOptions,
      ...authorOptions.filter(({ name }) => name === 'actor' || name === 'session'),
    ],
    notes: [
      'Put the new secret, from `key operator`, where `serve` takes it from, and restart the ' +
        'server, so that new stores have it; then run this. It may be repeated, also after it ' +
        'was interrupted. An earlier secret opens nothing that is written from then on.',
    ],
    run: async (...call) =>
      (await import('../commands/serve-backup.ts')).serveRotateOperator(...call),
  },
  {
    name: 'api-key create',
    summary: 'Create an API key for a server; it is shown once',
    positionals: [],
    options: [
      { name: 'name', value: 'text', summary: 'Its purpose, for people' },
      workspaceOption,
      ...placeOptions,
    ],
    run: async (...call) => (await import('../commands/serve-keys.ts')).apiKeyCreate(...call),
  },
  {
    name: 'api-key list',
    summary: 'List the API keys of a server',
    positionals: [],
    options: placeOptions,
    run: async (...call) => (await import('../commands/serve-keys.ts')).apiKeyList(...call),
  },
  {
    name: 'api-key revoke',
    destroys: true,
    summary: 'Revoke an API key; its sessions end with it',
    positionals: [{ name: 'id' }],
    options: placeOptions,
    notes: ['From the next request on. Its earlier writes are kept, in its name.'],
    run: async (...call) => (await import('../commands/serve-keys.ts')).apiKeyRevoke(...call),
  },
  {
    name: 'workspace create',
    summary: 'Create a workspace: its keys see its stores, and no others',
    positionals: [{ name: 'name' }],
    options: placeOptions,
    run: async (...call) => (await import('../commands/serve-keys.ts')).workspaceCreate(...call),
  },
  {
    name: 'workspace list',
    summary: 'List the workspaces of a server',
    positionals: [],
    options: placeOptions,
    run: async (...call) => (await import('../commands/serve-keys.ts')).workspaceList(...call),
  },
  {
    name: 'store create',
    summary: 'Create a store on a server, also while it runs',
    positionals: [{ name: 'name' }],
    options: [
      workspaceOption,
      noGuardOption,
      ...newStoreOptions,
      ...placeOptions,
      ...authorOptions.filter(({ name }) => name === 'actor'),
    ],
    notes: [
      'The API keys of the workspace reach it with their next request. What recovers it is ' +
        'decided as by `serve`: give it the options that the server was started with.',
    ],
    run: async (...call) => (await import('../commands/serve-stores.ts')).storeCreate(...call),
  },
  {
    name: 'store list',
    summary: 'List the stores of a server, newest first, archived ones too',
    positionals: [],
    options: [
      { ...workspaceOption, summary: 'Of this workspace, wrkspc_…; else of all' },
      ...placeOptions,
    ],
    run: async (...call) => (await import('../commands/serve-stores.ts')).storeList(...call),
  },
]

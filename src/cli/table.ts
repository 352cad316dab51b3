// The names of the verbs by task, in the order of help. The file of a verb is loaded when it runs;
// help of the program, completion and typing errors load all of them.

import { assert } from '../errors.ts'
import type { Command } from './call/command.ts'

type Load = () => Promise<{ readonly commands: readonly Command[] }>

const apiKey: Load = () => import('./commands/serving/api-key.ts')
const certificate: Load = () => import('./commands/certificate.ts')
const device: Load = () => import('./commands/members/device.ts')
const engine: Load = () => import('./commands/serving/engine.ts')
const grant: Load = () => import('./commands/members/grant.ts')
const guard: Load = () => import('./commands/guard.ts')
const hook: Load = () => import('./commands/hook.ts')
const key: Load = () => import('./commands/members/key.ts')
const mirror: Load = () => import('./commands/mirror.ts')
const log: Load = () => import('./commands/log.ts')
const read: Load = () => import('./commands/read.ts')
const remote: Load = () => import('./commands/sharing/remote.ts')
const report: Load = () => import('./commands/report.ts')
const rollback: Load = () => import('./commands/rollback.ts')
const serveBackup: Load = () => import('./commands/serving/serve-backup.ts')
const store: Load = () => import('./commands/serving/store.ts')
const sync: Load = () => import('./commands/sharing/sync.ts')
const write: Load = () => import('./commands/write.ts')

const tasks: Readonly<Record<string, Readonly<Record<string, Load>>>> = {
  'Make a store and look after it': {
    init: () => import('./commands/init.ts'),
    recover: () => import('./commands/recover.ts'),
    status: () => import('./commands/overview/status.ts'),
    settings: () => import('./commands/settings.ts'),
    'guard allow': guard,
    'guard revoke': guard,
    'guard list': guard,
    doctor: () => import('./commands/doctor.ts'),
    verify: () => import('./commands/verify.ts'),
    compact: () => import('./commands/compact.ts'),
  },
  'Read and write memories': {
    view: read,
    ls: read,
    cat: read,
    search: () => import('./commands/search.ts'),
    create: write,
    write,
    append: write,
    'str-replace': write,
    insert: write,
    edit: () => import('./commands/edit.ts'),
    rm: write,
    mv: write,
    export: () => import('./commands/export.ts'),
    import: () => import('./commands/import.ts'),
    tool: () => import('./commands/tool.ts'),
  },
  'Keep files and memories the same': {
    mirror,
    'mirror list': mirror,
    'mirror login': mirror,
    'mirror review': mirror,
    'mirror confirm': mirror,
    'mirror refill': mirror,
    'mirror pause': mirror,
    'mirror stop': mirror,
  },
  'Give agents the memory': {
    setup: () => import('./commands/setup.ts'),
    'hook session-start': hook,
    'hook file-written': hook,
    'hook user-prompt': hook,
    'hook pre-compact': hook,
    'hook session-end': hook,
    mcp: () => import('./commands/mcp.ts'),
  },
  'Look back': {
    console: () => import('./commands/console.ts'),
    log,
    show: log,
    diff: () => import('./commands/diff.ts'),
    blame: () => import('./commands/blame.ts'),
  },
  Undo: { undo: () => import('./commands/undo.ts'), restore: rollback, rollback },
  Erase: {
    redact: () => import('./commands/redact.ts'),
    'certificate list': certificate,
    'certificate show': certificate,
    'certificate verify': certificate,
    expire: () => import('./commands/expire.ts'),
  },
  'Share a store between machines': {
    join: () => import('./commands/sharing/join.ts'),
    sync,
    pull: sync,
    push: sync,
    fetch: () => import('./commands/sharing/fetch.ts'),
    conflicts: () => import('./commands/sharing/conflicts.ts'),
    'remote add': remote,
    'remote list': remote,
    'remote set-membership': remote,
    'remote remove': remote,
  },
  'Decide who may read and write': {
    'device card': device,
    'device add': device,
    'device list': device,
    'device role': device,
    'device rename': device,
    'device remove': () => import('./commands/members/device-remove.ts'),
    'grant give': grant,
    'grant list': grant,
    'grant end': grant,
    'grant givers': grant,
    'key show': key,
    'key passwd': key,
    'key recovery': key,
    'key rotate': key,
    'key quota': key,
    'key operator': key,
  },
  'Serve many stores': {
    serve: () => import('./commands/serving/serve.ts'),
    'serve status': () => import('./commands/serving/serve-status.ts'),
    'serve audit': () => import('./commands/serving/serve-audit.ts'),
    'serve backup': serveBackup,
    'serve restore': serveBackup,
    'serve accept-restored': serveBackup,
    'serve rotate-operator': serveBackup,
    'serve rotate-identity': serveBackup,
    'engine init': engine,
    'engine check': engine,
    'engine upgrade': engine,
    'engine scrub': engine,
    'api-key create': apiKey,
    'api-key list': apiKey,
    'api-key revoke': apiKey,
    'workspace create': apiKey,
    'workspace list': apiKey,
    'store create': store,
    'store list': store,
  },
  Audit: { audit: () => import('./commands/audit.ts'), report, 'report verify': report },
  'Set up a shell': { completion: () => import('./commands/completion.ts') },
}

const loaders: ReadonlyMap<string, Load> = new Map(
  Object.values(tasks).flatMap((commands) => Object.entries(commands)),
)

const aliases: ReadonlyMap<string, string> = new Map([
  ['list', 'ls'],
  ['grep', 'search'],
  ['history', 'log'],
])

/** The command of a name or an alias; undefined without one. */
export async function findCommand(typed: string): Promise<Command | undefined> {
  const name = aliases.get(typed) ?? typed
  const load = loaders.get(name)
  return load && loaded(load, name)
}

/** Whether it is the first of two words of verbs, and no verb itself. */
export function isFamily(word: string): boolean {
  return !loaders.has(word) && familyOf(word).length > 0
}

/** The verbs that begin with this word. */
export async function loadFamily(word: string): Promise<readonly Command[]> {
  return Promise.all(familyOf(word).map(([name, load]) => loaded(load, name)))
}

function familyOf(word: string): readonly (readonly [name: string, load: Load])[] {
  return [...loaders].filter(([name]) => name.startsWith(`${word} `))
}

async function loaded(load: Load, name: string): Promise<Command> {
  const command = (await load()).commands.find((one) => one.name === name)
  assert(command !== undefined, 'a command is not in the file that the table names')
  const others = [...aliases].flatMap(([alias, of]) => (of === name ? [alias] : []))
  return { ...command, aliases: others }
}

/** Commands for one task. */
export interface CommandGroup {
  readonly title: string
  readonly commands: readonly Command[]
}

/** Loads the files of all commands. */
export function loadGroups(): Promise<readonly CommandGroup[]> {
  return Promise.all(
    Object.entries(tasks).map(async ([title, files]) => {
      const found = Object.entries(files).map(([name, load]) => loaded(load, name))
      return { title, commands: await Promise.all(found) }
    }),
  )
}

export async function loadCommands(): Promise<readonly Command[]> {
  return (await loadGroups()).flatMap(({ commands }) => commands)
}

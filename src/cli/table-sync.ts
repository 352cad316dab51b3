// The verbs that bring a store to other machines; a part of table.ts.

import type { Command, Option } from './command.ts'
import { authorOptions } from './options.ts'

const maybeRemote = { name: 'remote', optional: true }
const whoMerges = authorOptions.filter(({ name }) => name !== 'reason')
const repair: Option = {
  name: 'repair',
  summary: 'Replace what a remote was put back to, or what does not verify there; for members',
}
const acceptRolledBack: Option = {
  name: 'accept-rolled-back',
  summary: 'Take over what the remote shows, though this device has verified more',
}
const codes =
  'The exit code is 0 if something moved, 15 if there was nothing to do, 16 if a merge had to ' +
  'combine edits of both sides (`conflicts` lists them), 13 offline, 14 refused by the remote, ' +
  '8 for a wrong key, 11 and 12 if what the remote shows was tampered with or rolled back.'

const several =
  'Without a name all remotes are synced, in the order of `remote list`. One that fails keeps ' +
  'none of the others waiting: what moved goes to standard output, each error to standard error, ' +
  'and the exit code is that of the first of them. With --json several remotes are one value, ' +
  '{"remotes":[…]}, in that order: for each what a single one gives, or {"remote":…,"error":…}. ' +
  'Errors name their `remote`, how many commits it has not got (`unsent_commits`) and the ref ' +
  'that keeps what was refused (`evidence_ref`).'

const joinCommand: Command = {
  name: 'join',
  summary: 'Make this machine one more of a store that a remote holds',
  positionals: [{ name: 'url' }],
  options: [acceptRolledBack, ...whoMerges],
  notes: [
    'Takes the recovery key from the file that GITLOCKET_RECOVERY_KEY_FILE names, or the ' +
      'passphrase from GITLOCKET_PASSPHRASE_FILE; else asks, unless an owner has added the ' +
      'device card of this machine. A passphrase makes it a writer, the recovery key an owner. ' +
      'The key is checked before anything is written.',
    'An address that ends in #memstore_… accepts that store only.',
    'An auditor gets a clone whose trail `audit` verifies, without keys to its contents.',
  ],
  run: async (...call) => (await import('./commands/join.ts')).join(...call),
}

const syncCommand: Command = {
  name: 'sync',
  summary: 'Take over what the remotes have, merge, and send what they lack',
  positionals: [maybeRemote],
  options: [
    { name: 'watch', summary: 'Again and again, until told to end' },
    { name: 'interval', value: 'seconds', summary: 'About so long between two; 60 if left out' },
    repair,
    { ...acceptRolledBack, summary: `${acceptRolledBack.summary}; for auditors` },
    ...whoMerges,
  ],
  notes: [
    codes,
    several,
    '--repair sends all objects again, so that a host gets those that it has lost. One that is ' +
      'damaged there git does not replace: at a path it is mended in place, and the damaged file ' +
      'kept in gitlocket/damaged. On a host, delete the file that `git fsck` names there and run ' +
      'it again, or `remote add` a new repository and push to that.',
    '--watch says what moved and what went wrong, each once, and waits longer while no remote ' +
      'can be reached. Ctrl-C and SIGTERM end it with 0; what another attempt cannot mend ends ' +
      'it with its own code.',
    'Credentials for https come from GITLOCKET_TOKEN, which every https remote that asks is ' +
      'given, or else from git (`git credential fill`); for ssh from your agent or keys. Nothing ' +
      'is asked.',
  ],
  run: async (...call) => (await import('./commands/watch.ts')).sync(...call),
}

const pullCommand: Command = {
  name: 'pull',
  summary: 'Take over what the remotes have and merge, and send nothing',
  positionals: [maybeRemote],
  options: whoMerges,
  notes: [codes, several],
  run: async (...call) => (await import('./commands/sync.ts')).syncOnce(...call, 'pull'),
}

const pushCommand: Command = {
  name: 'push',
  summary: 'Send what the remotes lack, if they have nothing new',
  positionals: [maybeRemote],
  options: whoMerges,
  notes: [codes, several],
  run: async (...call) => (await import('./commands/sync.ts')).syncOnce(...call, 'push'),
}

const conflictsCommand: Command = {
  name: 'conflicts',
  summary: 'Show what merges have combined, joined or moved aside, and from which versions',
  positionals: [],
  options: [{ name: 'limit', short: 'n', value: 'number', summary: 'No more than so many' }],
  notes: ['`show` prints the texts of a version that it names and of all that it was made of.'],
  run: async (...call) => (await import('./commands/conflicts.ts')).conflicts(...call),
}

const remoteCommands: readonly Command[] = [
  {
    name: 'remote add',
    summary: 'Name a remote: https, ssh, or a path',
    positionals: [{ name: 'name' }, { name: 'url' }],
    options: [],
    notes: [
      'The url is https://…, ssh://…, user@host:path, file://… or an absolute path. With ' +
        '#memstore_… after it, as `join` takes it, it must be of this store. No remote is ' +
        'contacted.',
    ],
    run: async (...call) => (await import('./commands/remote.ts')).remoteAdd(...call),
  },
  {
    name: 'remote list',
    summary: 'List the remotes',
    positionals: [],
    options: [],
    run: async (context) => (await import('./commands/remote.ts')).remoteList(context),
  },
  {
    name: 'remote remove',
    summary: 'Forget a remote; what it holds is untouched',
    positionals: [{ name: 'name' }],
    options: [],
    run: async (...call) => (await import('./commands/remote.ts')).remoteRemove(...call),
  },
]

export const syncCommands: readonly Command[] = [
  joinCommand,
  syncCommand,
  pullCommand,
  pushCommand,
  conflictsCommand,
  ...remoteCommands,
]

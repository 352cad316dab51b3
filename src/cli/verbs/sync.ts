// The verbs that bring a store to other machines; a part of ../table.ts.

import type { Command, Option } from '../call/command.ts'
import { authorOptions, deviceNameOption } from '../call/options.ts'

const maybeRemote = { name: 'remote', optional: true }
const whoMerges = authorOptions.filter(({ name }) => name !== 'reason')
const repair: Option = {
  name: 'repair',
  summary: 'Replace what a remote shows if it was rolled back or does not verify; for members',
}
const redo: Option = {
  name: 'redo',
  value: 'what',
  summary: 'With --repair: repeat their redactions, members or both (redactions,members)',
}
const takeTheirs: Option = {
  name: 'take-theirs',
  summary: 'Follow the remote where the keyring has changed here too; write own changes again',
}
const mergeHeld: Option = {
  name: 'merge-held',
  value: 'commit',
  summary: 'As an owner, merge what a former owner redacted or set, as of the commit named',
}
const acceptRolledBack: Option = {
  name: 'accept-rolled-back',
  summary: 'Accept what the remote shows, though this device has verified more',
}
const exitCode: Option = {
  name: 'exit-code',
  summary: 'Exit with 15 if there was nothing to do, and with 16 if a merge combined edits',
}
const codes =
  'The exit code is 0 if both sides are equal afterwards, even if a merge combined edits of ' +
  'both (`conflicts` lists them); 13 offline, 14 refused by the remote, 8 for a wrong key, 11 ' +
  'and 12 if what the remote shows was tampered with or rolled back.'

const several =
  'Without a name all remotes are synced, in the order of `remote list`. A failing remote does ' +
  'not stop the others: reports go to standard output, errors to standard error, and the exit ' +
  'code is that of the first error. With --json several remotes are one value, ' +
  '{"data":[…],"next_page":null}, in that order: for each the value of a single sync, or ' +
  '{"remote":…,"type":"error","error":…}. Errors name their `remote`, the number ' +
  'of commits that it lacks (`unsent_commits`) and the repository that keeps the refused pack ' +
  '(`evidence`), which `git -C <store>/<evidence> log` reads.'

const trustFirstContact: Option = {
  name: 'trust-first-contact',
  summary: 'Take the state that the remote shows for the newest one',
}

const joinCommand: Command = {
  name: 'join',
  summary: 'Add this machine to a store that a remote holds',
  positionals: [{ name: 'url' }],
  options: [deviceNameOption, trustFirstContact, acceptRolledBack, ...whoMerges],
  notes: [
    'Takes the recovery key from the file that GITLOCKET_RECOVERY_KEY_FILE names, or the ' +
      'passphrase from GITLOCKET_PASSPHRASE_FILE; else asks, unless an owner has added the ' +
      'device card of this machine. A passphrase makes it a writer, the recovery key an owner. ' +
      'The key is checked before anything is written.',
    'The address that `status` shows on another machine, <url>#memstore_…+…, names the store and ' +
      'its newest state: a remote that shows an older one is refused. With the id alone it shows ' +
      'the owners and the ten words of `status`, and asks; off a terminal that takes ' +
      '--trust-first-contact. Without an id it asks for that, since no key shows it.',
    'An auditor gets a clone whose trail `audit` verifies, without keys to its contents.',
  ],
  run: async (...call) => (await import('../commands/join.ts')).join(...call),
}

const syncCommand: Command = {
  name: 'sync',
  summary: 'Fetch what the remotes have, merge, and send what they lack',
  positionals: [maybeRemote],
  options: [
    { name: 'watch', summary: 'Go on until interrupted, with every change' },
    { name: 'interval', value: 'seconds', summary: 'How often remotes are asked; else 30' },
    repair,
    redo,
    takeTheirs,
    mergeHeld,
    { ...acceptRolledBack, summary: `${acceptRolledBack.summary}; for auditors` },
    exitCode,
    ...whoMerges,
  ],
  notes: [
    codes,
    several,
    '--repair sends all objects again, so that a remote gets those that it has lost. Git does ' +
      'not replace an object that is damaged there: delete the file that `git fsck` names there ' +
      'and run it again, or `remote add` a new repository and push to that.',
    'Two machines that change the keyring without knowing of each other are not merged: one ' +
      'command decides. --take-theirs takes the side of the remote; --repair, by an owner, the ' +
      'local one. Either merges earlier changes, writes again what members have written since, ' +
      'and lists what it leaves out, redactions first. The refusal lists what either side has ' +
      'redacted and changed. With --redo an owner repeats that of the other side in its own ' +
      'name, but never a passphrase or a recovery key.',
    '--watch looks for changes here, and at remotes at a path, every second. Every other remote ' +
      'is asked for its newest commit at each interval, on average, with one request.',
    '--watch reports each transfer and each error once, and waits longer while no remote can be ' +
      'reached. Ctrl-C and SIGTERM end it with 0; an error that another attempt does not fix ' +
      'ends it with its own code.',
    'Credentials for https come from GITLOCKET_TOKEN, if the remote is at the host that ' +
      'GITLOCKET_TOKEN_HOST names, or else from git (`git credential fill`); for ssh from your ' +
      'agent or keys. It never prompts.',
  ],
  run: async (context, input) => {
    // Apart: what the watch needs is in one file with the server, which takes long to load.
    if (input.flag('watch')) return (await import('../commands/watch.ts')).watch(context, input)
    return (await import('../commands/sync.ts')).sync(context, input)
  },
}

const pullCommand: Command = {
  name: 'pull',
  summary: 'Fetch what the remotes have and merge, and send nothing',
  positionals: [maybeRemote],
  options: [exitCode, ...whoMerges],
  notes: [codes, several],
  run: async (...call) => (await import('../commands/sync.ts')).syncOnce(...call, 'pull'),
}

const pushCommand: Command = {
  name: 'push',
  summary: 'Send what the remotes lack, if they have nothing new',
  positionals: [maybeRemote],
  options: [exitCode, ...whoMerges],
  notes: [codes, several],
  run: async (...call) => (await import('../commands/sync.ts')).syncOnce(...call, 'push'),
}

const conflictsCommand: Command = {
  name: 'conflicts',
  summary: 'Show what merges have combined, joined or moved aside, and from which versions',
  positionals: [{ name: 'version', optional: true, repeated: true }],
  options: [
    { name: 'limit', short: 'n', value: 'number', summary: 'At most this many' },
    { name: 'all', summary: 'Also those that are marked as looked at' },
    { name: 'seen', summary: 'Mark these versions, or all, as looked at on this device' },
  ],
  notes: [
    '`show` prints a version that it names, with the versions that it was made from. Marks are ' +
      'kept on this device: other machines and their users list a conflict until they mark it.',
  ],
  run: async (...call) => (await import('../commands/conflicts.ts')).conflicts(...call),
}

const remoteCommands: readonly Command[] = [
  {
    name: 'remote add',
    summary: 'Name a remote: https, ssh, or a path',
    positionals: [{ name: 'name' }, { name: 'url' }],
    options: [],
    notes: [
      'The url is https://…, ssh://…, user@host:path, file://… or an absolute path. If ' +
        '#memstore_… follows, as for `join`, it must be the id of this store. No remote is ' +
        'contacted.',
      'Of the settings of git, those of credentials, `core.sshCommand`, `http.sslCAInfo` and ' +
        '`http.sslCAPath` hold. These have no effect: `url.<base>.insteadOf` and ' +
        '`pushInsteadOf`, `http.extraHeader`, `http.sslVerify`, `http.sslCert`, `http.proxy`, ' +
        '`core.askPass`, and the configuration of a repository itself.',
    ],
    run: async (...call) => (await import('../commands/remote.ts')).remoteAdd(...call),
  },
  {
    name: 'remote list',
    summary: 'List the remotes',
    positionals: [],
    options: [],
    run: async (context) => (await import('../commands/remote.ts')).remoteList(context),
  },
  {
    name: 'remote set-membership',
    summary: 'Choose the remote that changes of devices and keys are pushed to',
    positionals: [{ name: 'name' }],
    options: [],
    notes: [
      'For this machine; else it is `origin`, or the only one. Other remotes follow by sync. All ' +
        'owners should choose the same: two that change devices or keys through different ' +
        'remotes have to choose one of both changes.',
    ],
    run: async (...call) => (await import('../commands/remote.ts')).remoteSetMembership(...call),
  },
  {
    name: 'remote remove',
    destroys: true,
    summary: 'Forget a remote; what it holds is untouched',
    positionals: [{ name: 'name' }],
    options: [],
    run: async (...call) => (await import('../commands/remote.ts')).remoteRemove(...call),
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

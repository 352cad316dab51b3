// `sync`, `pull` and `push`. The exit code reports what happened.

import {
  type Answer,
  type Command,
  type Context,
  type Input,
  type OptionTexts,
  usageError,
} from '../../call/command.ts'
import { actorOptions } from '../../call/options.ts'
import { answerOf, detailedExitCode, syncRemotes, type Half } from '../../store/sync-remotes.ts'

const onceOptions: OptionTexts = {
  '--exit-code': 'Exit with 15 if there was nothing to do, and with 16 if a merge combined edits',
  ...actorOptions,
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

export const commands: readonly Command[] = [
  {
    name: 'sync',
    summary: 'Fetch what the remotes have, merge, and send what they lack',
    usage: '[<remote>]',
    options: {
      '--watch': 'Go on until interrupted, with every change',
      '--interval <seconds>': 'How often remotes are asked; else 30',
      '--repair':
        'Replace what a remote shows if it was rolled back or does not verify; for members',
      '--redo <what>':
        'With --repair: repeat their redactions, members or both (redactions,members)',
      '--take-theirs':
        'Follow the remote where the keyring has changed here too; write own changes again',
      '--merge-held <commit>':
        'As an owner, merge what a former owner redacted or set, as of the commit named',
      '--accept-rolled-back':
        'Accept what the remote shows, though this device has verified more; for auditors',
      ...onceOptions,
    },
    notes: [
      codes,
      several,
      '--repair first takes over the newest commits below the refused one that verify; the ' +
        'report counts those that it kept and dropped (`replaced`). It sends all objects again, ' +
        'so that a remote gets those that it has lost. Git does not replace an object that is ' +
        'damaged there: delete the file that `git fsck` names there and run it again, or ' +
        '`remote add` a new repository and push to that.',
      'Two machines that change the keyring without knowing of each other are not merged: one ' +
        'command decides. --take-theirs takes the side of the remote; --repair, by an owner, the ' +
        'local one. Either merges earlier changes, writes again what members have written since, ' +
        'and lists what it leaves out, redactions first. The refusal lists what either side has ' +
        'redacted and changed. With --redo an owner repeats that of the other side in its own ' +
        'name, but never a passphrase or a recovery key.',
      'Changes of a removed device are left out, and what grants wrote on top of them is written ' +
        'again without their text. The report lists it (`grant_work`), and why others are not: ' +
        '`not_here`, the memory is of that device alone; `overlaps`, the edit is of its text; ' +
        '`redacted`, it may hold an erased text; `refused`, such as above a limit.',
      '--watch looks for changes here, and at remotes at a path, every second. Every other ' +
        'remote is asked for its newest commit at each interval, on average, with one request.',
      '--watch reports each transfer and each error once, and waits longer while no remote can ' +
        'be reached. Ctrl-C and SIGTERM end it with 0; an error that another attempt does not ' +
        'fix ends it with its own code.',
      'Credentials for https come from GITLOCKET_TOKEN, if the remote is at the host that ' +
        'GITLOCKET_TOKEN_HOST names, or else from git (`git credential fill`); for ssh from your ' +
        'agent or keys. It never prompts.',
    ],
    run: sync,
  },
  {
    name: 'pull',
    summary: 'Fetch what the remotes have and merge, and send nothing',
    usage: '[<remote>]',
    options: onceOptions,
    notes: [codes, several],
    run: (context, input) => syncOnce(context, input, 'pull'),
  },
  {
    name: 'push',
    summary: 'Send what the remotes lack, if they have nothing new',
    usage: '[<remote>]',
    options: onceOptions,
    notes: [codes, several],
    run: (context, input) => syncOnce(context, input, 'push'),
  },
]

async function sync(context: Context, input: Input): Promise<Answer> {
  // Loaded on demand: the watch shares a file of the bundle with the server.
  if (input.flag('watch')) return (await import('./watch.ts')).watch(context, input)
  if (input.text('interval') !== undefined) throw usageError('--interval needs --watch', 'sync')
  return syncOnce(context, input, undefined)
}

async function syncOnce(context: Context, input: Input, only: Half): Promise<Answer> {
  const outcomes = await syncRemotes(context, input, only)
  const [first] = outcomes
  // With one remote, or none, its error is that of the command.
  if (outcomes.length === 1 && first !== undefined && 'error' in first) throw first.error
  const answer = answerOf(context, outcomes)
  return input.flag('exit-code') ? { ...answer, exitCode: detailedExitCode(outcomes) } : answer
}

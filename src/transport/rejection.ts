// Explains why a host rejects a push, and what to change there. Pure. The host's messages may be
// anything: they only select the advice, and are quoted sanitised and short.

import { StoreError } from '../errors.ts'

interface Advice {
  /** In lower case. */
  readonly phrases: readonly string[]
  readonly text: string
}

/** The first row with a matching phrase is used. */
const advices: readonly Advice[] = [
  {
    // Before branch protection in general: the protection may only concern forced pushes.
    phrases: [
      'non-fast-forward',
      'non-ff',
      'nonfastforward',
      'force push',
      'force-push',
      'forcepush',
      'rewrite history',
      // gitolite.
      'fatal: + refs/',
    ],
    text:
      'it rejects rewritten history, which a redaction needs: allow forced pushes to ' +
      'refs/heads/main once and sync again, or report to it the objects that the certificate lists',
  },
  {
    phrases: [
      'protected branch',
      'gh006',
      'gh013',
      'not allowed to',
      'tf402455',
      'repository rule',
    ],
    text: 'refs/heads/main is protected there: allow this account to push to it',
  },
  {
    phrases: ['currently checked out', 'denycurrentbranch'],
    text: 'it has a working tree with that branch checked out: use a bare repository',
  },
  {
    phrases: ['exists; cannot create'],
    text: 'a branch there is named below refs/heads/main/: rename or delete it',
  },
  {
    phrases: ['unable to resolve reference', 'reference broken'],
    text: 'refs/heads/main is damaged there: restore it or delete it',
  },
  { phrases: ['deletion', 'hidden ref'], text: 'it does not allow updates of refs/heads/main' },
  {
    phrases: ['too large', 'exceeds', 'maximum'],
    text: 'it limits the size of a push, a file or a repository: raise the limit there',
  },
  {
    phrases: ['read-only file', 'unable to create temporary'],
    text: 'the repository cannot be written there: make its file system and its files writable',
  },
  {
    phrases: ['permission', 'denied', 'read-only', 'read only', 'archived', 'not authori'],
    text: 'this account has no write access',
  },
  { phrases: ['hook declined'], text: 'a hook there declines it' },
  {
    // Last: rows above explain why git's programs end like this, where that is known.
    phrases: ['abnormal exit', 'unpacker error', 'unresolved delta', 'index-pack'],
    text:
      'git there could not store the pack; `sync --repair` sends everything, without deltas on ' +
      'objects there; if that is refused too, `git fsck` there names the damage',
  },
]

const noSpace = ['no space', 'disk full', 'quota']

/** The ref has moved, in the messages of git's server and of others. */
const raceLost = [
  'but expected',
  'fetch first',
  'stale info',
  'incorrect old value',
  'reference already exists',
]

/**
 * `remote_moved` if another push was faster, `remote_locked` if one may still run, `remote_full`,
 * else `push_rejected`. `messages` are the remote's
 * messages that came with the `reason`.
 */
export function rejection(
  remote: { harmless(text: string): string },
  reason: string,
  messages: readonly string[],
): StoreError {
  const all = [reason, ...messages].join('\n').toLowerCase()
  if (raceLost.some((phrase) => all.includes(phrase))) {
    return new StoreError('remote_moved', 'Another push moved the branch of the remote first')
  }
  const quoted = remote.harmless([reason, ...messages.slice(-5)].join(' / '))
  if (noSpace.some((phrase) => all.includes(phrase))) {
    return new StoreError(
      'remote_full',
      `The remote has no space for the push (it reported: ${quoted})`,
    )
  }
  const advice = advices.find(({ phrases }) => phrases.some((phrase) => all.includes(phrase)))
  const isHeld = /\.lock': file exists/.test(all)
  if (isHeld || (advice === undefined && /cannot lock ref|failed to lock/.test(all))) {
    const said = remote.harmless(messages.find((line) => /lock/i.test(line)) ?? reason)
    return new StoreError(
      'remote_locked',
      `The remote cannot lock its branch (it reported: ${said})`,
    )
  }
  const why = advice === undefined ? '' : `: ${advice.text}`
  return new StoreError(
    'push_rejected',
    `The remote refused the push${why} (it reported: ${quoted})`,
  )
}

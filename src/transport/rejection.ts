// Why a host does not move the branch, in words that say what to change there. Pure. What the host
// says may be anything: it chooses the advice, and is quoted harmless and short.

import { StoreError } from '../errors.ts'

interface Advice {
  /** In lower case. */
  readonly phrases: readonly string[]
  readonly words: string
}

/** The first row counts of which a phrase occurs. */
const advices: readonly Advice[] = [
  {
    // Before protection as such: what is protected against may be this alone.
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
    words:
      'it keeps old history, which a redaction replaces: allow forced pushes to refs/heads/main ' +
      'once and sync again, or report to it the objects that the certificate lists',
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
    words: 'refs/heads/main is protected there: allow this account to push to it',
  },
  {
    phrases: ['currently checked out', 'denycurrentbranch'],
    words: 'it is a working tree with that branch checked out: use a bare repository',
  },
  { phrases: ['deletion', 'hidden ref'], words: 'it does not let refs/heads/main be moved' },
  {
    phrases: ['quota', 'no space', 'too large', 'exceeds', 'disk full', 'maximum'],
    words: 'it has no room for it',
  },
  {
    phrases: ['permission', 'denied', 'read-only', 'read only', 'archived', 'not authori'],
    words: 'this account may not write there',
  },
  { phrases: ['hook declined'], words: 'a hook there declines it' },
  {
    // Last: why the programs of git end so is said above, where it is known.
    phrases: ['abnormal exit', 'unpacker error', 'unresolved delta', 'index-pack'],
    words:
      'git there could not take in what was sent; `sync --repair` sends everything whole, built ' +
      'on nothing that is there, and if that is refused too, `git fsck` there names the damage',
  },
]

/** A ref that was not where we said, in the words of git's own server and of others. */
const raceLost = [
  'but expected',
  'fetch first',
  'stale info',
  'cannot lock ref',
  'failed to lock',
  'incorrect old value',
  'reference already exists',
]

/**
 * `remote_moved` if somebody was faster, else `push_rejected`. `said` are the lines for people that
 * came with the `reason`.
 */
export function rejection(
  remote: { harmless(text: string): string },
  reason: string,
  said: readonly string[],
): StoreError {
  const all = [reason, ...said].join('\n').toLowerCase()
  if (raceLost.some((phrase) => all.includes(phrase))) {
    return new StoreError('remote_moved', 'Another push moved the branch of the remote first')
  }
  const advice = advices.find(({ phrases }) => phrases.some((phrase) => all.includes(phrase)))
  const quoted = remote.harmless([reason, ...said.slice(-5)].join(' / '))
  const what = advice === undefined ? '' : `: ${advice.words}`
  return new StoreError('push_rejected', `The remote refused the push${what} (it says ${quoted})`)
}

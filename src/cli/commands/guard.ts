// `guard`: the texts that the guard lets through although they look like secrets, each by its
// SHA-256. The settings keep them (FORMAT §5.1); the library checks that an owner changes those.

import { sha256OfText } from '../../crypto/digest.ts'
import { StoreError } from '../../errors.ts'
import { allowedTexts, withAllowed } from '../../store/guard/guard.ts'
import type { Answer, Command, Context, Input, OptionTexts } from '../call/command.ts'
import { actorOptions, authorOf } from '../call/options.ts'
import { readTextFile } from '../machine/files.ts'
import { withStore } from '../store/open-store.ts'
import { inkOf } from '../terminal/ink.ts'
import { tableText } from '../text/table.ts'

const options: OptionTexts = {
  '--file <file>': 'The file that holds the text, instead of its hash',
  ...actorOptions,
}

export const commands: readonly Command[] = [
  {
    name: 'guard allow',
    summary: 'Let one exact text through that the guard takes for a secret',
    usage: '[<sha256>]',
    options,
    notes: [
      'A refusal names the SHA-256 of the text. Every device of the store then accepts this ' +
        'text as a memory; one that differs in a byte is refused, and so is the same text as a ' +
        'path or a reason. Only an owner decides this: an agent has no tool for it, and a key ' +
        'of a server no request.',
      'The hash is kept in the encrypted settings, whose history cannot be redacted. The hash ' +
        'of a text that can be guessed, such as a short password alone, gives it away to ' +
        'anyone who can read the store.',
    ],
    run: guardAllow,
  },
  {
    name: 'guard revoke',
    summary: 'No longer let a text through; a memory that holds it keeps it',
    usage: '[<sha256>]',
    options,
    notes: [
      'Settings are not merged. If two owners change them before they sync, one of the two ' +
        'changes holds as a whole, and the other is lost, even if it is a revocation. `sync` ' +
        'reports it on both devices: check `guard list` then, and repeat the lost change.',
    ],
    run: guardRevoke,
  },
  {
    name: 'guard list',
    summary: 'List the texts that the guard lets through, by SHA-256',
    run: guardList,
  },
]

const DIGITS_MIN = 8

function guardAllow(context: Context, input: Input): Promise<Answer> {
  return change(context, input, true)
}

function guardRevoke(context: Context, input: Input): Promise<Answer> {
  return change(context, input, false)
}

function guardList(context: Context, input: Input): Promise<Answer> {
  return withStore(context, async (store) => {
    const allowed = allowedTexts((await store.status()).settings)
    const text = tableText(context, inkOf(context, input), allowed, [
      { head: 'SHA-256 OF THE TEXT', cell: (sha256) => sha256, cut: 'end' },
    ])
    const note = allowed.length === 0 ? 'The guard lets no text through' : undefined
    return { text, inked: true, json: { allowed }, note }
  })
}

async function change(context: Context, input: Input, isAllowed: boolean): Promise<Answer> {
  const author = authorOf(context, input)
  const named = hashOf(input)
  return withStore(context, async (store) => {
    const sha256 = isAllowed
      ? checkWhole(named)
      : wholeHash(named, allowedTexts((await store.status()).settings))
    const { commit } = await store.as(author).settings.update(({ metadata }) => ({
      metadata: withAllowed(metadata, sha256, isAllowed),
    }))
    return {
      text: `The guard ${isAllowed ? 'now lets' : 'no longer lets'} the text ${sha256} through\n`,
      json: { changed: commit !== undefined, commit: commit ?? null, sha256, allowed: isAllowed },
    }
  })
}

function hashOf(input: Input): string {
  const [given, file] = [input.findArgument(0), input.text('file')]
  if ((given === undefined) === (file === undefined)) {
    throw new StoreError('invalid_input', 'Give either the SHA-256 of a text or --file')
  }
  if (file !== undefined) return sha256OfText(readTextFile('the text', file))
  return String(given).toLowerCase()
}

function checkWhole(sha256: string): string {
  if (/^[0-9a-f]{64}$/.test(sha256)) return sha256
  throw new StoreError('invalid_input', 'The SHA-256 of a text has 64 hex digits')
}

/** One that is let through may be named by its first digits, as a narrow list shows them. */
function wholeHash(named: string, allowed: readonly string[]): string {
  const found = allowed.filter((sha256) => sha256.startsWith(named))
  const [first] = found
  if (first !== undefined && found.length === 1 && named.length >= DIGITS_MIN) return first
  return checkWhole(named)
}

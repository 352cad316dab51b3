// `guard`: the texts that the guard lets through although they look like secrets, each by its
// SHA-256. The settings keep them (FORMAT §5.1); the library checks that an owner changes those.

import { sha256OfText } from '../../crypto/digest.ts'
import { StoreError } from '../../errors.ts'
import { allowedTexts, withAllowed } from '../../store/guard/guard.ts'
import type { Answer, Input } from '../call/command.ts'
import type { Context } from '../call/context.ts'
import { authorOf } from '../call/options.ts'
import { readTextFile } from '../machine/files.ts'
import { withStore } from '../store/open-store.ts'

export function guardAllow(context: Context, input: Input): Promise<Answer> {
  return change(context, input, true)
}

export function guardRevoke(context: Context, input: Input): Promise<Answer> {
  return change(context, input, false)
}

export function guardList(context: Context): Promise<Answer> {
  return withStore(context, async (store) => {
    const allowed = allowedTexts((await store.status()).settings)
    const text = allowed.map((sha256) => `${sha256}\n`).join('')
    return { text: text === '' ? 'The guard lets no text through\n' : text, json: { allowed } }
  })
}

async function change(context: Context, input: Input, isAllowed: boolean): Promise<Answer> {
  const author = authorOf(context, input)
  const sha256 = hashOf(input)
  return withStore(context, async (store) => {
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
  const sha256 = String(given).toLowerCase()
  if (/^[0-9a-f]{64}$/.test(sha256)) return sha256
  throw new StoreError('invalid_input', 'The SHA-256 of a text has 64 hex digits')
}

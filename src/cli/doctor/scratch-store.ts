// Runs a small store through its life, with a canary in everything that is secret: contents, paths,
// reasons, sessions, actors, settings, keys. Uses the interfaces that agents use, and includes
// refused commands, a checkpoint, caches, a changed passphrase and a second opening.

import * as actions from '../../api/actions.ts'
import { toHex } from '../../bytes.ts'
import { systemRandom } from '../../crypto/random.ts'
import { StoreError } from '../../errors.ts'
import { formatIdentity, generateIdentity, type Identity } from '../../keys/identity.ts'
import type { Author } from '../../store/commits/commit-context.ts'
import { createStore } from '../../store/create.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import { openStore } from '../../store/open.ts'
import type { Canary } from './canaries.ts'

/** The search. It is called at each point of the store's life. */
export interface Witness {
  look(moment: string): Promise<void>
  /** A message that a caller could see or log. */
  hear(message: string): void
}

export interface Places {
  readonly directory: string
  readonly stateDirectory: string
}

/** A random text of characters that every field allows. */
function canary(): string {
  return `canary-${toHex(systemRandom(12))}`
}

/** A canary for each kind of secret. */
function newSecrets() {
  return {
    content: canary(),
    'edited content': canary(),
    'inserted content': canary(),
    path: canary(),
    'new path': canary(),
    directory: canary(),
    reason: canary(),
    session: canary(),
    actor: canary(),
    'refused path': canary(),
    'refused content': canary(),
    'store description': canary(),
    'device name': canary(),
    passphrase: canary(),
    'new passphrase': canary(),
  } as const
}

type Secrets = ReturnType<typeof newSecrets>

export interface Subject {
  readonly canaries: readonly Canary[]
  live(at: Places, witness: Witness): Promise<void>
}

export async function makeSubject(): Promise<Subject> {
  const secrets = newSecrets()
  const identity = await generateIdentity()
  const line = formatIdentity(identity).split('\n')[1] ?? ''
  const keys = [{ place: 'identity', text: line.slice(21, 61) }]
  const canaries = [...Object.entries(secrets).map(([place, text]) => ({ place, text })), ...keys]
  return { canaries, live: (at, witness) => live(at, identity, secrets, witness) }
}

async function live(
  at: Places,
  identity: Identity,
  secrets: Secrets,
  witness: Witness,
): Promise<void> {
  const { passphrase, 'device name': deviceName } = secrets
  const made = await createStore({ ...at, identity, passphrase, deviceName })
  const author: Author = {
    actor: { type: 'user', id: secrets.actor },
    session: secrets.session,
    reason: secrets.reason,
  }
  await using(made.store, async (store) => {
    await write(store, author, secrets)
    await refuse(store, author, secrets, witness)
    await store.as(author).settings.update({ description: secrets['store description'] })
    await witness.look('in the journal')
    await store.maintenance.checkpoint()
    await witness.look('after a checkpoint')
    await store.as(author).keys.changePassphrase(secrets['new passphrase'])
    await write(store, author, secrets)
  })
  await using(await openStore({ ...at, identity }), async (store) => {
    await store.history.versions({})
    await store.maintenance.verify()
  })
  await witness.look('after closing')
}

async function using(
  store: MemoryStore,
  work: (store: MemoryStore) => Promise<void>,
): Promise<void> {
  try {
    await work(store)
  } finally {
    await store.close()
  }
}

async function write(store: MemoryStore, author: Author, secrets: Secrets): Promise<void> {
  const context = { store, me: store.as(author), access: 'read_write' } as const
  const path = `/${secrets.directory}/${secrets.path}`
  const new_path = `/${secrets.directory}/${secrets['new path']}`
  const { create, insert, strReplace, rename, remove, runAction } = actions
  await runAction(create, context, { path, file_text: `a\n${secrets.content}\n` })
  const inserted = { path, insert_line: 1, insert_text: secrets['inserted content'] }
  await runAction(insert, context, inserted)
  const replaced = { path, old_str: secrets.content, new_str: secrets['edited content'] }
  await runAction(strReplace, context, replaced)
  await runAction(rename, context, { old_path: path, new_path })
  await runAction(remove, context, { path: new_path })
  await runAction(create, context, { path, file_text: secrets.content.repeat(50) })
  await runAction(rename, context, { old_path: path, new_path })
  // Leaves one live memory, at a path that the next round does not need.
  const kept = `/${secrets.directory}/${toHex(systemRandom(4))}-${secrets.path}`
  await runAction(rename, context, { old_path: new_path, new_path: kept })
}

/** Runs commands that are refused: their messages go to agents and into logs. */
async function refuse(
  store: MemoryStore,
  author: Author,
  secrets: Secrets,
  witness: Witness,
): Promise<void> {
  const context = { store, me: store.as(author), access: 'read_write' } as const
  const path = `/${secrets['refused path']}`
  const text = secrets['refused content']
  const { create, insert, strReplace, rename, remove, runAction } = actions
  const attempts = [
    () => runAction(strReplace, context, { path, old_str: text, new_str: text }),
    () => runAction(insert, context, { path, insert_line: 9, insert_text: text }),
    () => runAction(remove, context, { path }),
    () => runAction(rename, context, { old_path: path, new_path: `${path}/${text}` }),
    () => runAction(create, context, { path, file_text: `${text}\0` }),
    () => runAction(create, context, { path: `${path}//${text}`, file_text: text }),
    () => runAction(create, context, { path, file_text: text.repeat(10_000) }),
  ]
  for (const attempt of attempts) {
    const error: unknown = await attempt().then(
      () => undefined,
      (reason: unknown) => reason,
    )
    if (!(error instanceof StoreError)) throw new Error('A command that is wrong was not refused')
    witness.hear(`${error.message} ${error.stack ?? ''}`)
  }
}

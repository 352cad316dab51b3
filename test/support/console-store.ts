// A store with something of each kind to look at: sessions, versions, a move, a deletion, a merge,
// a redaction, two devices and a remote.

import type { MemoryStore } from '../../src/index.ts'
import { bareRemote, firstClone, joinClone, sync } from './clones.ts'

const decisions = {
  before: [
    '# Decisions, billing',
    '',
    '## Retries',
    'Failed charges are retried three times, one hour apart.',
    'Ask Anna before changing it.',
    '',
    ...Array.from({ length: 20 }, (_, n) => `Line ${n} that nobody has changed.`),
    '',
    '## Invoices',
    'Numbers are never reused, not even after a void.',
    '',
  ].join('\n'),
}

export function session(store: MemoryStore, id: string, reason?: string) {
  const author = { actor: { type: 'session', id }, session: id } as const
  return store.as(reason === undefined ? author : { ...author, reason })
}

/** It has two merges to look at, and is the second clone. */
export async function storeToLookAt(): Promise<MemoryStore> {
  const first = await firstClone(bareRemote())
  const tuesday = session(first.store, 'tuesday-import')
  await tuesday.write('/projects/billing/decisions.md', decisions.before)
  await tuesday.write('/projects/billing/incidents.md', 'one\ntwo\nthree\n')
  await tuesday.write('/people/anna.md', '# Anna\n\nKnows billing.\n')
  await tuesday.write('/people/old.md', 'the key was sk-old\n')
  await tuesday.write('/people/old.md', 'nothing any more\n')
  await sync(first)
  const [{ url } = { url: '' }] = await first.store.remotes.list()
  const { store } = await joinClone(first, url)
  await session(first.store, 'laptop-1').write(
    '/projects/billing/incidents.md',
    'ONE\ntwo\nthree\n',
  )
  await session(store, 'server-1').write('/projects/billing/incidents.md', 'one\ntwo\nTHREE\n')
  await sync(first)
  await sync({ store })
  const friday = session(store, 'friday-billing', 'note the retry rule')
  await friday.edit('/projects/billing/decisions.md', (text) =>
    text
      .replace('three times, one hour', 'five times, one day')
      .replace('changing it.', 'changing it; never retry a stolen card.'),
  )
  await friday.write('/todo.md', '- [ ] call the payment team\n')
  const anna = store.as({ actor: { type: 'user', id: 'anna' } })
  await anna.move('/people/anna.md', '/people/anna/notes.md')
  await anna.delete('/people/old.md')
  const { data } = await store.history.versions({ path: '/people/old.md', order: 'oldest' })
  const select = { versionIds: [data[0]?.versionId ?? ''] }
  await anna.redact({ select, reason: 'leaked_secret' })
  return store
}

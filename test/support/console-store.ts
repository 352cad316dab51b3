// A store with something of each kind to look at: sessions, versions, a move, a deletion, a merge,
// a redaction, two devices and a remote.

import type { MemoryStore } from '../../src/index.ts'
import { bareRemote, firstClone, joinClone, sync } from './clones.ts'
import { newStore } from './stores.ts'

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

const HOUR_MS = 3_600_000

/** The store in the pictures of the console: the three weeks to `end` of two devices with names. */
export async function storeToShow(end = Date.now()): Promise<MemoryStore> {
  let now = end - 21 * 24 * HOUR_MS
  const clock = (): number => now
  const later = (hours: number): void => {
    now += hours * HOUR_MS
  }
  const first = { ...(await newStore({ clock, deviceName: 'laptop' })) }
  await first.store.remotes.add('origin', bareRemote())
  const monday = session(first.store, 'monday-import', 'learned during the import')
  for (const [path, text] of texts) {
    await monday.write(path, text)
    later(0.02)
  }
  await sync(first)
  const [{ url } = { url: '' }] = await first.store.remotes.list()
  const joining = { clock, deviceName: 'build-server' }
  const { store } = await joinClone(first, url, joining)
  later(70)
  const anna = store.as({ actor: { type: 'user', id: 'anna' } })
  await anna.edit(decisionsPath, (text) => text.replace('Ask Bo', 'Ask Anna'))
  await anna.move('/people/anna.md', '/people/team/anna.md')
  later(95)
  await session(first.store, 'chat-4f1c', 'an alert of last night').append(incidentsPath, 'db-2\n')
  later(1)
  const chat = session(store, 'chat-9b20', 'what the customer said')
  await chat.append(incidentsPath, 'Card network down for 20 minutes.\n')
  later(0.2)
  await chat.append(decisionsPath, '\nRefunds over 500 need two people.\n')
  await chat.write('/runbooks/refunds.md', '# Refunds\n\n1. Look up the charge.\n')
  later(2)
  await sync(first)
  await sync({ store })
  later(150)
  await session(store, 'docs-review').edit(decisionsPath, (text) => `${text}Reviewed in May.\n`)
  await anna.write('/people/bo.md', 'token: tk-3141592653\n')
  later(20)
  const { data } = await store.history.versions({ path: '/people/bo.md' })
  await anna.write('/people/bo.md', '# Bo\n\nOn call in even weeks.\n')
  const select = { versionIds: [data[0]?.versionId ?? ''] }
  await anna.redact({ select, reason: 'leaked_secret' })
  later(140)
  const friday = session(store, 'friday-billing', 'note the retry rule the payment team asked for')
  await friday.edit(decisionsPath, (text) =>
    text
      .replace('three times, one hour', 'five times, one day')
      .replace('changing it.', 'changing it; never retry a card that was reported stolen.'),
  )
  later(0.1)
  await friday.write('/todo.md', '- [ ] call the payment team\n')
  later(1)
  await sync({ store })
  return store
}

const decisionsPath = '/projects/billing/decisions.md'
const incidentsPath = '/projects/billing/incidents.md'

const texts = [
  [decisionsPath, decisions.before.replace('Ask Anna', 'Ask Bo').replaceAll(/Line .*\n/g, '')],
  [incidentsPath, '# Incidents\n\n'],
  ['/projects/billing/api-notes.md', 'Version 3 signs each webhook.\n'],
  ['/projects/search/ranking.md', 'Paths weigh twice as much as texts.\n'],
  ['/projects/website/launch.md', 'The new pages are live since March.\n'],
  ['/people/anna.md', '# Anna\n\nKnows billing.\n'],
  ['/people/house-style.md', 'Short sentences. No jargon.\n'],
  ['/runbooks/restore.md', '# Restore a database\n\n1. Stop the writers.\n'],
] as const

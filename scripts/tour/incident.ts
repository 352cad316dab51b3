// How a user handles the fourth session, with the command line: finds what it wrote, undoes it, and
// erases the key that it leaked. Each step is checked, so that the tour never prints what did not
// happen.

import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { MemoryStore, Version } from 'gitlocket'
import type { Place } from './place.ts'
import { showCommand } from './programs.ts'
import { heading, inFull, print } from './screen.ts'
import { access, conventions, friday, handover, leakedKey } from './transcript/friday.ts'

/** What the proof of a redaction needs. */
export interface Erasure {
  /** The commit that added the key. */
  readonly commit: string
  /** Every object that the certificate names. */
  readonly objectIds: readonly string[]
}

type WithStore = <T>(work: (store: MemoryStore) => T | Promise<T>) => Promise<T>

const user = 'ines'
const certificate = 'certificate.json'
const keyFile = 'leaked-key.txt'
/** What Ines writes before the attack is found; it must survive. */
const later = {
  conventions: '- Staging is reset on Mondays at 04:00 UTC',
  handover: '04:30 backup of the database to the bucket',
}

export async function showIncident(place: Place, withStore: WithStore): Promise<Erasure> {
  await writeLaterNotes(place)
  await undoSession(place, withStore)
  return redactKey(place, withStore)
}

/** Adds edits by another author, in the same memories and on top of what the session wrote. */
async function writeLaterNotes(place: Place): Promise<void> {
  heading('Later, Ines writes into the same memories, and then questions a line')
  const author = ['--actor', user]
  const [rules, notes] = [storePath(conventions), storePath(handover)]
  await inFull(() => {
    showCommand(place, ['insert', rules, '--line', '2', '--text', later.conventions, ...author], 1)
    showCommand(place, ['insert', notes, '--line', '6', '--text', later.handover, ...author], 1)
  })
  showCommand(place, ['blame', rules], { full: 9, short: -3 })
}

async function undoSession(place: Place, withStore: WithStore): Promise<void> {
  heading('She undoes what that session wrote; what others wrote since then stays')
  const undo = ['rollback', '--session', friday.id]
  await inFull(() => showCommand(place, [...undo, '--dry-run'], 42))
  showCommand(place, [...undo, '--as', user, '--yes'], 6)
  const texts = await withStore(async (store) => ({
    conventions: (await store.read(storePath(conventions)))?.content ?? '',
    handover: (await store.read(storePath(handover)))?.content ?? '',
    access: await store.read(storePath(access)),
  }))
  const both = texts.conventions + texts.handover
  check(!both.includes('paste.example') && !both.includes(leakedKey), 'its lines are removed')
  check(texts.access === undefined, 'the memory that it created is deleted')
  check(both.includes(later.conventions) && both.includes(later.handover), 'later lines stay')
}

/** No current version holds the key any more, but the history still does. */
async function redactKey(place: Place, withStore: WithStore): Promise<Erasure> {
  heading('The key is still in the history: she erases it there, permanently')
  const leak = await findLeak(withStore)
  if (leak === undefined) throw new Error('The fourth session created no memory')
  const file = join(place.root, keyFile)
  writeFileSync(file, `${leakedKey}\n`, { mode: 0o600 })
  const redact = ['redact', '--matching-file', keyFile, '--literal']
  try {
    await inFull(() => {
      showCommand(place, [...redact, '--dry-run'], 8)
      print('\nIt includes her own version of the handover, which still held the key.')
    })
    const reason = ['--reason-code', 'leaked_secret', '--certificate', certificate]
    showCommand(place, [...redact, ...reason, '--as', user, '--yes'], { full: 10, short: 1 })
  } finally {
    rmSync(file)
  }
  showCommand(place, ['verify', '--absence', '--certificate', certificate], { full: 8, short: -1 })
  await inFull(() => {
    print(
      '\nThe row of the audit trail stays, under the same id, and its signature still verifies:',
    )
    showCommand(place, ['show', leak.versionId], 8)
  })
  const row = await findLeak(withStore)
  const isSame = row?.versionId === leak.versionId
  check(
    isSame && row?.redactedAt !== undefined && row.path === undefined,
    'the row exists, without a path',
  )
  return { commit: leak.commit, objectIds: objectIdsOf(place) }
}

/** What the session created: the memory with the key. */
function findLeak(withStore: WithStore): Promise<Version | undefined> {
  return withStore(async (store) => {
    const { data: versions } = await store.history.versions({
      session: friday.id,
      operation: 'created',
    })
    return versions[0]
  })
}

function objectIdsOf(place: Place): readonly string[] {
  const value: unknown = JSON.parse(readFileSync(join(place.root, certificate), 'utf8'))
  const ids = typeof value === 'object' && value !== null && 'object_ids' in value
  const found: unknown = ids ? value.object_ids : undefined
  if (Array.isArray(found)) return found.map(String)
  throw new Error('The certificate names no objects')
}

/** The path as the command line and the library write it. */
function storePath(path: string): string {
  return path.replace(/^\/memories/, '')
}

function check(holds: boolean, what: string): void {
  if (!holds) throw new Error(`The tour expects that ${what}`)
}

// `npm start`: the product in a few seconds, without prompts. A temporary store, the transcript of
// agent sessions through the memory tool, the history and its verification, the undo of a poisoned
// session and the redaction of a key that it leaked, a second machine, and what a git host sees of
// all that. Exits above 0 if anything differs from what the transcript expects.

import process from 'node:process'
import { createStore, type MemoryStore, openStore } from 'gitlocket'
import { showHostView } from './host-view.ts'
import { showIncident } from './incident.ts'
import { makePlace, type Place, variablesOf } from './place.ts'
import { showCommand } from './programs.ts'
import { replay } from './replay.ts'
import { heading, inFull, isFull, print, style } from './screen.ts'
import { showSecondMachine } from './second-machine.ts'
import { showServer } from './server.ts'
import { guardedSession, poisonedSession, sessions } from './transcript.ts'
import type { Session } from './transcript/call.ts'

endQuietlyWithoutReader()
try {
  await tour()
} catch (error) {
  const message = error instanceof Error ? error.message : String(error)
  process.stderr.write(`\nThe tour stopped: ${message}\n`)
  process.exitCode = 1
}

async function tour(): Promise<void> {
  print('gitlocket keeps the memory of AI agents in an encrypted git repository. An agent works in')
  print(
    'sessions, each command through the memory tool. One session is poisoned: it is undone, and',
  )
  print('what it leaked is erased. A second machine joins, and the host sees none of it.')
  print('A new store would refuse the key that leaks here: the guard of this one is off at first.')
  const place = await makePlace()
  const { store, recoveryKey } = await createStore({ ...place, refuseSecrets: false })
  await store.close()
  await replayAll(place)
  await inFull(() => showHistory(place))
  await replayOne(place, poisonedSession)
  const erasure = await showIncident(place, (work) => withStore(place, work))
  await inFull(() => showGuard(place))
  await showSecondMachine(place, recoveryKey, withStore)
  const signers = await withStore(place, (opened) => opened.maintenance.allowedSigners())
  showHostView(place, signers, erasure)
  await withStore(place, (opened) => showServer(place, opened))
  showNext(place)
}

async function replayAll(place: Place): Promise<void> {
  const start = performance.now()
  let commits = 0
  for (const session of sessions) commits += await inFull(() => replayOne(place, session))
  const calls = sessions.reduce((sum, session) => sum + session.calls.length, 0)
  const seconds = ((performance.now() - start) / 1000).toFixed(1)
  const work = `${sessions.length} sessions of ordinary work: `
  print(`\n${isFull ? '' : work}${calls} commands, ${commits} commits, ${seconds} s`)
}

/** Each session opens the store again, as another process would. */
function replayOne(place: Place, session: Session): Promise<number> {
  heading(`Session ${session.id}: ${session.request}`)
  return withStore(place, (store) => replay(store, session))
}

async function showGuard(place: Place): Promise<void> {
  heading('To prevent it in future, she turns on the guard that a new store has')
  showCommand(place, ['settings', '--guard', 'on'], 6)
  await replayOne(place, guardedSession)
}

async function showHistory(place: Place): Promise<void> {
  heading('The history, with the key')
  const path = '/done/billing/decisions.md'
  const [newest, oldest] = await withStore(place, async (store) => {
    const memory = await store.read(path)
    const { data: versions } = await store.history.versions({ memoryId: memory?.memoryId })
    return [versions.at(0), versions.at(-1)]
  })
  if (newest === undefined || oldest === undefined) throw new Error('A memory has no versions')
  showCommand(place, ['log', '--limit', '2'], 12)
  showCommand(place, ['log', '--oneline', '--follow', path], 8)
  showCommand(place, ['diff', oldest.versionId, newest.versionId], 14)
  showCommand(place, ['verify'], 8)
}

function showNext(place: Place): void {
  heading('Continue with this store')
  for (const [name, value] of Object.entries(variablesOf(place))) print(`  export ${name}=${value}`)
  print('  npx gitlocket ls')
  if (isFull) print('  npx gitlocket cat done/billing/handover.md')
  if (isFull) print('  npx gitlocket create hello.md --text "Hello"')
  print('  npx gitlocket log --redacted')
  print(style('dim', `  rm -r ${place.root}  # when you are done`))
  if (!isFull) print('\n`npm start -- --full` shows every command of this tour.')
}

/** A reader that closes the pipe, as in `npm start | head`, is no failure. */
function endQuietlyWithoutReader(): void {
  process.stdout.on('error', () => process.exit())
}

async function withStore<T>(
  place: Place,
  work: (store: MemoryStore) => T | Promise<T>,
): Promise<T> {
  const store = await openStore(place)
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}
